import { LRUCache } from 'lru-cache';
import type * as re2js from 're2js';
import { FhirError } from '../fhir/error.js';
import { regularExpressions } from './library.js';
import { tooCostly } from './step-budget.js';

/** In characters. */
const MAX_PATTERN_LENGTH = 500;
/** In characters. */
const MAX_RESULT_LENGTH = 1_000_000;

/**
 * The functions on regular expressions, on an engine that takes linear time for every pattern (no backtracking, therefore
 * no back references or look-arounds), and `replace()` with a bounded result.
 *
 * Entries for fhirpath.js's function table. See https://hl7.org/fhirpath/N1/#string-manipulation.
 */
export const TEXT_FUNCTIONS = {
  matches: {
    fn: (input: readonly unknown[], pattern: unknown, flags?: unknown) =>
      onText(input, [pattern], (text) => compilePattern(String(pattern), flags).matcher(text).find()),
    arity: { 1: ['String'], 2: ['String', 'String'] },
  },
  matchesFull: {
    fn: (input: readonly unknown[], pattern: unknown, flags?: unknown) =>
      onText(input, [pattern], (text) =>
        compilePattern(`^(?:${String(pattern)})$`, flags)
          .matcher(text)
          .find(),
      ),
    arity: { 1: ['String'], 2: ['String', 'String'] },
  },
  replaceMatches: {
    fn: (input: readonly unknown[], pattern: unknown, substitution: unknown) =>
      onText(input, [pattern, substitution], (text) =>
        replaceAll(text, compilePattern(String(pattern), undefined, false), String(substitution)),
      ),
    arity: { 2: ['String', 'String'] },
  },
  replace: {
    fn: (input: readonly unknown[], pattern: unknown, substitution: unknown) =>
      onText(input, [pattern, substitution], (text) => replaceText(text, String(pattern), String(substitution))),
    arity: { 2: ['String', 'String'] },
  },
} as const;

/** An empty input gives an empty result; several items or a non-string are errors. */
function onText<Result>(
  input: readonly unknown[],
  parameters: readonly unknown[],
  apply: (text: string) => Result,
): Result | [] {
  const [text] = input;
  if (input.length > 1) throw new Error('expected one text');
  if (text === undefined || text === null || parameters.some((parameter) => Array.isArray(parameter))) return [];
  if (typeof text !== 'string') throw new Error('expected a text');
  return apply(text);
}

const patterns = new LRUCache<string, re2js.RE2JS>({ max: 200 });

function compilePattern(pattern: string, flags: unknown, dotAll = true): re2js.RE2JS {
  const key = `${typeof flags === 'string' ? flags : ''} ${dotAll} ${pattern}`;
  let compiled = patterns.get(key);
  if (compiled === undefined) {
    compiled = newPattern(pattern, typeof flags === 'string' ? flags : '', dotAll);
    patterns.set(key, compiled);
  }
  return compiled;
}

function newPattern(pattern: string, flags: string, dotAll: boolean): re2js.RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new FhirError(
      'too-costly',
      `A pattern in a FHIRPath expression has ${pattern.length} characters; at most ${MAX_PATTERN_LENGTH} are allowed`,
      { details: { max: MAX_PATTERN_LENGTH, value: pattern.length } },
    );
  }
  if (!/^[im]*$/.test(flags)) {
    throw new FhirError('invalid', 'The flags of a pattern in a FHIRPath expression are i and m');
  }
  const RE2JS = regularExpressions();
  const bits =
    (dotAll ? RE2JS.DOTALL : 0) |
    (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes('m') ? RE2JS.MULTILINE : 0);
  try {
    return RE2JS.compile(pattern, bits);
  } catch (cause) {
    throw new FhirError(
      'invalid',
      'A pattern in a FHIRPath expression is not a regular expression, or uses back references or look-arounds',
      { cause },
    );
  }
}

function replaceAll(text: string, pattern: re2js.RE2JS, substitution: string): string {
  // Each match can grow by the substitution and, through groups, by the text it matched.
  if ((text.length + 1) * (substitution.length + 1) > MAX_RESULT_LENGTH * 10) throw tooCostly();
  return pattern.matcher(text).replaceAll(substitution);
}

/** An empty pattern matches before and after every character. The substitution is literal, `$` included. */
function replaceText(text: string, pattern: string, substitution: string): string {
  const matches = pattern === '' ? text.length + 1 : text.split(pattern).length - 1;
  if (matches * substitution.length > MAX_RESULT_LENGTH) throw tooCostly();
  return text.replaceAll(pattern, () => substitution);
}
