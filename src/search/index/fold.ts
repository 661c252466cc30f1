import { cutsCharacter } from '../../platform/surrogates.js';

const MARKS = /\p{M}+/gu;
/** Marks inside words are removed (`O'Brien` is `obrien`), as do full stops of abbreviations (`Dr.`, `U.S.A.`). */
const INNER_PUNCTUATION = /['’‘ʼ`.·]+/gu;
/** Other marks separate words (`Smith-Jones` is `smith jones`). */
const PUNCTUATION = /[\p{P}\p{S}\s]+/gu;

/**
 * In UTF-16 code units. What a longer string has after that is neither searched nor ordered by. PERF: to fold a megabyte takes
 * 25 to 120 ms, for each parameter that it is a value of, and a store writes and scans what it indexes.
 */
const MAX_INDEXED = 65_536;

/** The beginning of a string that searches and sorts see. A character is in it as a whole or not at all. */
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
