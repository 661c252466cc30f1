import { LRUCache } from 'lru-cache';
import type * as re2js from 're2js';
import { FhirError } from '../fhir/error.js';
import { dataOf } from './element-weights.js';
import { regularExpressions } from './library.js';
import { type StepBudget, tooCostly } from './step-budget.js';

/** In characters. */
const MAX_RESULT_LENGTH = 1_000_000;

/** The key of the budget among the variables of an evaluation. No expression can name it. */
export const BUDGET = Symbol('budget');

/** The context in which fhirpath.js calls functions. */
interface EvaluationContext {
  readonly vars: { readonly [BUDGET]: StepBudget };
}

type Items = readonly unknown[];

/** An argument: a value, or an empty list. */
type Argument = unknown;

/**
 * The functions on regular expressions, on an engine that takes linear time for every pattern (no backtracking, therefore
 * no back references or look-arounds), and functions on texts whose work is charged before it is done.
 *
 * Entries for fhirpath.js's function table. See https://hl7.org/fhirpath/N1/#string-manipulation.
 */
export const TEXT_FUNCTIONS = {
  matches: {
    fn(this: EvaluationContext, input: Items, pattern: Argument, flags?: Argument) {
      const budget = this.vars[BUDGET];
      return onText(input, [pattern], (text) =>
        compilePattern(String(pattern), flags, true, budget).occursIn(text, budget),
      );
    },
    arity: { 1: ['String'], 2: ['String', 'String'] },
    internalStructures: true,
  },
  matchesFull: {
    fn(this: EvaluationContext, input: Items, pattern: Argument, flags?: Argument) {
      const budget = this.vars[BUDGET];
      return onText(input, [pattern], (text) =>
        compilePattern(`^(?:${String(pattern)})$`, flags, true, budget).occursIn(text, budget),
      );
    },
    arity: { 1: ['String'], 2: ['String', 'String'] },
    internalStructures: true,
  },
  replaceMatches: {
    fn(this: EvaluationContext, input: Items, pattern: Argument, substitution: Argument) {
      const budget = this.vars[BUDGET];
      return onText(input, [pattern, substitution], (text) => {
        // Each match can grow by the substitution and, through groups, by the text it matched.
        if ((text.length + 1) * (String(substitution).length + 1) > MAX_RESULT_LENGTH * 10) throw tooCostly();
        return compilePattern(String(pattern), undefined, false, budget).replaceAll(text, String(substitution), budget);
      });
    },
    arity: { 2: ['String', 'String'] },
    internalStructures: true,
  },
  replace: {
    fn: (input: Items, pattern: Argument, substitution: Argument) =>
      onText(input, [pattern, substitution], (text) => replaceText(text, String(pattern), String(substitution))),
    arity: { 2: ['String', 'String'] },
    internalStructures: true,
  },
  lastIndexOf: {
    fn(this: EvaluationContext, input: Items, part: Argument) {
      return onText(input, [part], (text) => {
        // JavaScript compares the part at each position.
        this.vars[BUDGET].spend((text.length * String(part).length) / 400);
        return text.lastIndexOf(String(part));
      });
    },
    arity: { 1: ['String'] },
    internalStructures: true,
  },
} as const;

/** An empty input gives an empty result; several items or a non-string are errors. */
function onText<Result>(input: Items, parameters: readonly Argument[], apply: (text: string) => Result): Result | [] {
  if (input.length > 1) throw new Error('expected one text');
  const text = dataOf(input[0]);
  if (text === undefined || text === null || parameters.some((parameter) => Array.isArray(parameter))) return [];
  if (typeof text !== 'string') throw new Error('expected a text');
  return apply(text);
}

/** An empty pattern matches before and after every character. The substitution is literal, `$` included. */
function replaceText(text: string, pattern: string, substitution: string): string {
  const matches = pattern === '' ? text.length + 1 : text.split(pattern).length - 1;
  if (matches * substitution.length > MAX_RESULT_LENGTH) throw tooCostly();
  return text.replaceAll(pattern, () => substitution);
}

/** In characters. */
const MAX_PATTERN_LENGTH = 500;

/** Instructions of a program whose automaton has few states, whatever the text. */
const SMALL_PROGRAM = 16;

/** Words and alternatives of words: their automaton has few states too. */
const WORDS_ONLY = /^(?:\(\?i\))?[\w\s|()^$'",:;@#%&=/<>~-]*$/;

/** A compiled pattern of `matches()` or `replaceMatches()`; its work is charged in advance. */
export class Pattern {
  readonly #compiled: re2js.RE2JS;
  readonly #isCheap: boolean;

  constructor(compiled: re2js.RE2JS, source: string) {
    this.#compiled = compiled;
    this.#isCheap = WORDS_ONLY.test(source);
  }

  /** The size of its program, in instructions: `x{100}` has a hundred. */
  get size(): number {
    return this.#compiled.programSize();
  }

  /**
   * Whether the pattern occurs in the text.
   *
   * A character takes 10 ns as long as the states of the automaton fit in memory. Otherwise it takes 40 ns for each
   * instruction.
   */
  occursIn(text: string, budget: StepBudget): boolean {
    if (!this.#isCheap && this.size > SMALL_PROGRAM) budget.spend((text.length * (this.size - SMALL_PROGRAM)) / 4);
    // Unlike find(), it does not locate the match, and takes a hundredth of its time.
    return this.#compiled.test(text);
  }

  /** Replaces all occurrences. The engine locates them by simulating all instructions for each character. */
  replaceAll(text: string, substitution: string, budget: StepBudget): string {
    // The result may be as many times longer as the substitution has characters.
    budget.spend(text.length * (1 + this.size / 5 + substitution.length / 8));
    return this.#compiled.matcher(text).replaceAll(substitution);
  }
}

// The results are immutable and shared by all callers.
const patterns = new LRUCache<string, Pattern>({ max: 200 });

/**
 * Compiles a regular expression without back references and look-arounds.
 *
 * @param dotAll whether a dot is any character, line ends included
 * @throws FhirError `invalid` - not a pattern
 * @throws FhirError `too-costly` - longer than 500 characters
 */
function compilePattern(pattern: string, flags: unknown, dotAll: boolean, budget: StepBudget): Pattern {
  const letters = typeof flags === 'string' ? flags : '';
  const key = `${letters} ${dotAll} ${pattern}`;
  let compiled = patterns.get(key);
  if (compiled === undefined) {
    compiled = new Pattern(newPattern(pattern, letters, dotAll), pattern);
    patterns.set(key, compiled);
    // A pattern made of data differs for each item.
    budget.spend(300 + 5 * compiled.size);
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
