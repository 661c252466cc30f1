import { cutsCharacter } from '../../platform/surrogates.js';

/** Combining characters such as accents, and characters that nobody sees: soft hyphens, zero-width and direction marks. */
const IGNORED = /[\p{M}\p{Default_Ignorable_Code_Point}]+/gu;
/** Apostrophes, and characters written for one, are removed (`O'Brien` is `obrien`), as are full stops (`U.S.A.`). */
const INNER_PUNCTUATION = /['`´‘’‛ʹ-ʿˈ′‵՚׳ꞌ.·]+/gu;
/** Other punctuation separates words (`Smith-Jones` is `smith jones`). Symbols stay: `+` is a value of its own. */
const PUNCTUATION = /[\p{P}\p{Cc}\s]+/gu;
/** Their compatibility forms mean something else: `10⁹` is not 109, and `´` is not a blank. */
const INCOMPATIBLE = /[\p{No}\p{Sk}]/u;
const COMPATIBLE = /[^\p{No}\p{Sk}]+/gu;

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
 * The order key of strings: without accents, case and invisible characters, with compatibility characters as letters
 * (`ﬁ` is `fi`), otherwise unchanged.
 *
 * `_sort` compares these by code point. See https://hl7.org/fhir/R4/search.html#sort.
 */
export function collationKey(whole: string): string {
  const text = indexedPart(whole);
  // PERF: most stored strings are plain ASCII and need no normalization.
  return /^[\x20-\x7e]*$/.test(text) ? text.toLowerCase() : caseFold(decomposed(text)).replace(IGNORED, '');
}

function decomposed(text: string): string {
  if (!INCOMPATIBLE.test(text)) return text.normalize('NFKD');
  return text.normalize('NFD').replace(COMPATIBLE, (part) => part.normalize('NFKD'));
}

/**
 * Texts that differ in case alone have the same folding: Unicode's full case folding, and both i's of Turkish are `i`.
 *
 * `ß`, `ẞ` and `SS` are `ss`. See https://www.unicode.org/versions/latest/core-spec/chapter-5/#G21790.
 */
export function caseFold(text: string): string {
  // Only the first conversion maps ẞ, only the second one ß and ı. The last one ends words with another sigma.
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/**
 * The form in which string parameters compare: a {@link collationKey} without punctuation, white space as single blanks.
 * Of some texts nothing is left: see `foldSearched` in string-criteria.ts.
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
