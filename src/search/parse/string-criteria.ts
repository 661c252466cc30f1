import { FhirError } from '../../fhir/error.js';
import { quote } from '../../fhir/messages.js';
import { and, type Criteria, type MatchCriteria, or } from '../criteria/criteria.js';
import type { StringTest } from '../criteria/value-test.js';
import { fold, MAX_NAME_WORDS } from '../index/fold.js';
import type { ValueTraits } from '../index/value-traits.js';
import { type ParseContext, spend } from './parse-context.js';

/** How a search compares a text with the strings of a parameter. */
type StringComparator = Exclude<StringTest['comparator'], 'exact' | 'words-start-with' | 'words-equal'>;

/**
 * The folded text of a search.
 *
 * @throws FhirError `invalid` - nothing is left of it, and every string begins with nothing
 */
export function foldSearched(parameter: string, text: string): string {
  const folded = fold(text);
  if (folded !== '') return folded;
  throw new FhirError(
    'invalid',
    `Search parameter "${parameter}" ignores punctuation, blanks and accents, and its value has nothing else`,
  );
}

/**
 * The criteria of a text in a string parameter.
 *
 * A string matches if it begins with the text, contains it, and so on. A name or address matches if one of its parts
 * does. It also matches if each word of the text begins one of its words, in any order, for `starts-with` and
 * `contains`, or is one of its words, for `equals`. R4 leaves this to the server: `name=alice smith` finds who has both.
 *
 * @param text unescaped
 */
export function stringCriteria(
  code: string,
  comparator: StringComparator,
  text: string,
  { names }: Pick<ValueTraits, 'names'>,
  context: ParseContext,
): Criteria {
  const folded = foldSearched(code, text);
  const inPart = match(code, comparator, folded);
  if (names === 'none') return inPart;
  const words = wordsOf(folded);
  if (words.length > MAX_NAME_WORDS) return inPart;
  spend(context, words.length - 1);
  switch (comparator) {
    case 'starts-with': {
      const inWords = match(`${code}:words`, 'words-start-with', byLikelyRarity(words).join(' '));
      // A part that begins with the text has its words, too. Those of a name of many words are in its own order.
      const isInOrder = inWords.test.text === words.join(' ');
      return names === 'all' && isInOrder ? inWords : or([inPart, inWords]);
    }
    case 'contains':
      if (!folded.includes(' ')) return inPart;
      return or([inPart, match(`${code}:words`, 'words-start-with', byLikelyRarity(words).join(' '))]);
    case 'equals':
      if (!folded.includes(' ')) return inPart;
      return or([inPart, match(`${code}:words`, 'words-equal', byLikelyRarity(words).join(' '))]);
    default:
      return inPart;
  }
}

/** Each word of the text begins a word of some value of a parameter that is indexed by word. */
export function wordCriteria(code: string, text: string, context: ParseContext): Criteria {
  const words = wordsOf(foldSearched(code, text));
  spend(context, words.length - 1);
  return and(words.map((word) => match(`${code}:words`, 'starts-with', word)));
}

/**
 * The index finds values by the first word, and the order has no other meaning. Long words are in few names, and so
 * are numbers of houses: `main springfield` and `main 12` took a test of every address with a Main Street.
 */
function byLikelyRarity(words: readonly string[]): readonly string[] {
  const weightOf = (word: string): number => word.length + (/\d/.test(word) ? WEIGHT_OF_DIGITS : 0);
  return words.toSorted((one, other) => weightOf(other) - weightOf(one));
}

const WEIGHT_OF_DIGITS = 3;

/** The distinct words. */
function wordsOf(folded: string): readonly string[] {
  return [...new Set(folded.split(' '))];
}

function match(
  parameter: string,
  comparator: StringTest['comparator'],
  text: string,
): MatchCriteria & { readonly test: StringTest } {
  return { kind: 'match', parameter, test: { kind: 'string', comparator, text } };
}

/** Separators of search values; a preceding `\` escapes them, and itself. */
type Separator = ',' | '|' | '$';

/**
 * Splits text at each unescaped separator. The parts keep their escapes, for further splits.
 *
 * `splitEscaped('a\\,b,c', ',')` is `['a\\,b', 'c']`. See https://hl7.org/fhir/R4/search.html#escaping.
 */
export function splitEscaped(text: string, separator: Separator): string[] {
  // Most values contain no backslash.
  if (!text.includes('\\')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === separator) {
      parts.push(text.slice(start, position));
      start = position + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** The number of parts {@link splitEscaped} would return, without creating them. */
export function countEscaped(text: string, separator: Separator): number {
  let parts = 1;
  for (let position = 0; position < text.length; position++) {
    if (text[position] === '\\') position++;
    else if (text[position] === separator) parts++;
  }
  return parts;
}

/**
 * Removes the escapes from a fully split part.
 *
 * @throws FhirError `invalid` - a backslash precedes anything but `,`, `|`, `$` or a backslash.
 */
export function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([\s\S]?)/g, (_, escaped: string) => {
    if (escaped !== '' && ',|$\\'.includes(escaped)) return escaped;
    throw new FhirError(
      'invalid',
      `A backslash is only allowed before "," "|" "$" or "\\", which ${quote(text)} breaks`,
    );
  });
}

/** Escapes text as a literal of the search syntax: `escapeValue('a,b')` is `'a\\,b'`. */
export function escapeValue(text: string): string {
  return text.replace(/[\\,|$]/g, '\\$&');
}
