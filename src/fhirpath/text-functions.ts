import { dataOf } from './element-weights.js';
import { compilePattern } from './patterns.js';
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
