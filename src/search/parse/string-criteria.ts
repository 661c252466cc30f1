import { FhirError } from '../../fhir/error.js';
import { and, type Criteria } from '../criteria/criteria.js';
import type { StringTest } from '../criteria/value-test.js';
import { fold } from '../index/fold.js';
import { spend, type ParseContext } from './parse-context.js';

/** How a search compares a text with the strings of a parameter. */
export type StringComparator = Exclude<StringTest['comparator'], 'exact'>;

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
 * The criteria of a text in a string parameter: a value begins with the text, contains it, and so on.
 *
 * @param text unescaped
 */
export function stringCriteria(code: string, comparator: StringComparator, text: string): Criteria {
  return match(code, comparator, foldSearched(code, text));
}

/** Each word of the text begins a word of some value of a parameter that is indexed by word. */
export function wordCriteria(code: string, text: string, context: ParseContext): Criteria {
  const words = wordsOf(foldSearched(code, text));
  spend(context, words.length - 1);
  return and(words.map((word) => match(`${code}:words`, 'starts-with', word)));
}

/** The distinct words. */
function wordsOf(folded: string): readonly string[] {
  return [...new Set(folded.split(' '))];
}

function match(parameter: string, comparator: StringTest['comparator'], text: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'string', comparator, text } };
}
