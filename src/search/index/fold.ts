import { oncePer } from '../../platform/collections.js';
import { cutsCharacter } from '../../platform/texts.js';
import type { StringValue } from './index-entry.js';

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
 * Folding a megabyte takes 25 to 120 ms for each of its parameters, and a store writes and scans what it indexes.
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
  // Most stored strings are plain ASCII and need no normalization.
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
  // Plain words skip two regular expressions.
  if (/^[a-z0-9]*$/.test(key)) return key;
  return key.replace(INNER_PUNCTUATION, '').replace(PUNCTUATION, ' ').trim();
}

/** The maximum number of words of a name or address that a search finds by their beginnings, in any order. */
export const MAX_NAME_WORDS = 32;

/** The words of a name or address, as its index rows have them. */
interface NameWords {
  /**
   * A text per distinct word, which begins with the word and continues with the others, each followed by a blank.
   *
   * So one row says whether all words of a search belong to the same name, and the index finds it by any of them.
   */
  readonly rotations: readonly string[];
  /** False if there are more words than the rotations have. */
  readonly complete: boolean;
}

/**
 * The words of a name or address, from its folded parts.
 *
 * `nameWords(['smith', 'alice marie'])` has the rotations `'smith alice marie '`, `'alice marie smith '` and
 * `'marie smith alice '`.
 */
export function nameWords(parts: readonly string[]): NameWords {
  const words = new Set<string>();
  let length = 0;
  for (const part of parts) {
    for (const word of part.split(' ')) {
      if (word === '' || words.has(word)) continue;
      length += word.length + 1;
      if (words.size === MAX_NAME_WORDS || length > MAX_LENGTH)
        return { rotations: rotationsOf(words), complete: false };
      words.add(word);
    }
  }
  return { rotations: rotationsOf(words), complete: true };
}

/** Of all words and their blanks, in UTF-16 code units. */
const MAX_LENGTH = 1_024;

function rotationsOf(words: ReadonlySet<string>): readonly string[] {
  const whole = [...words].map((word) => `${word} `).join('');
  let start = 0;
  return [...words].map((word) => {
    const rotation = whole.slice(start) + whole.slice(0, start);
    start += word.length + 1;
    return rotation;
  });
}

/** Whether a string takes more than about a tenth of a millisecond to fold. */
export function isLongString(text: string): boolean {
  return text.length >= LONG_STRING;
}

/** Minimum length of a long string, in UTF-16 code units. */
const LONG_STRING = 1_024;

/**
 * The {@link collationKey} of a string value.
 *
 * The keys of long strings are kept with the value. Folding, the marks of the smallest and largest value, rows
 * and sorts need the key, and for 64 Ki characters it takes up to 7 ms.
 */
export function orderKey(value: StringValue): string {
  return isLongString(value.text) ? longKey(value) : collationKey(value.text);
}

const longKey = oncePer(({ text }: StringValue) => collationKey(text));
