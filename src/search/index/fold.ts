import { cutsCharacter } from '../../platform/surrogates.js';

const MARKS = /\p{M}+/gu;
/** Marks inside words are removed (`O'Brien` is `obrien`), as are full stops of abbreviations (`Dr.`, `U.S.A.`). */
const INNER_PUNCTUATION = /['’‘ʼ`.·]+/gu;
/** Other marks separate words (`Smith-Jones` is `smith jones`). */
const PUNCTUATION = /[\p{P}\p{S}\s]+/gu;

/**
 * Maximum indexed length of a string, in UTF-16 code units. Searches and sorts ignore the rest of a longer string.
 * PERF: folding a megabyte takes 25 to 120 ms for each of its parameters, and a store writes and scans what it indexes.
 */
const MAX_INDEXED = 65_536;

/** The beginning of a string that searches and sorts see. It never ends within a character. */
export function indexedPart(text: string): string {
  if (text.length <= MAX_INDEXED) return text;
  return text.slice(0, cutsCharacter(text, MAX_INDEXED) ? MAX_INDEXED - 1 : MAX_INDEXED);
}

/**
 * The order key of strings: without accents and case, otherwise unchanged.
 *
 * `_sort` compares these by code point. See https://hl7.org/fhir/R4/search.html#sort.
 */
export function collationKey(whole: string): string {
  const text = indexedPart(whole);
  // PERF: most stored strings are plain ASCII and need no normalization.
  return /^[\x20-\x7e]*$/.test(text) ? text.toLowerCase() : text.normalize('NFD').replace(MARKS, '').toLowerCase();
}

/**
 * The form in which string parameters compare: without accents, case and punctuation, white space as single blanks.
 *
 * `fold("Müller-O'Hara, DR.")` is `'muller ohara dr'`. See https://hl7.org/fhir/R4/search.html#string.
 */
export function fold(text: string): string {
  return foldKey(collationKey(text));
}

/** {@link fold} of the string with this {@link collationKey}. */
export function foldKey(key: string): string {
  // PERF: plain words skip two regular expressions.
  if (/^[a-z0-9]*$/.test(key)) return key;
  return key.replace(INNER_PUNCTUATION, '').replace(PUNCTUATION, ' ').trim();
}
