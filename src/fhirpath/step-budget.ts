import { isPlainObject } from '../fhir/resource.js';
import { FhirError } from '../fhir/error.js';
import { dataOf, ElementWeights, isElement } from './element-weights.js';
import { MAX_EXPRESSION_LENGTH, type SyntaxNode } from './syntax-tree.js';

/** Maximum steps of an evaluation. A typical filter takes 10 to 100 steps; 250,000 steps take about 50 ms. */
const MAX_STEPS = 250_000;

/** Meters the work of evaluations, so that their sum is bounded too. Methods may throw to end the work. */
export interface StepMeter {
  /** @param steps taken by an evaluation; 0 before it begins */
  spend(steps: number): void;
  /** Called before an expression is compiled. */
  spendExpression(expression: string): void;
}

/**
 * The cost of compiling an expression, in steps: at least 2 ms, growing with its length. Expressions over the length
 * limit are never compiled.
 */
export function compilationSteps(expression: string): number {
  return 20_000 + 40 * Math.min(expression.length, MAX_EXPRESSION_LENGTH);
}

/**
 * Functions that compare all items with each other. They are charged before they run, so that the cost is known in
 * advance.
 */
const COMPARING_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['distinct', 'exclude', 'intersect', 'isDistinct', 'subsetOf', 'supersetOf', 'union'],
]);

/** Operators that compare elements with everything in them, once for each pair. */
const COMPARING_OPERATORS: ReadonlySet<string> = new Set(['EqualityExpression', 'MembershipExpression']);

/** Steps for a quantity, date or time that fhirpath.js makes: its arithmetic reads units and calendars. */
const STEPS_PER_MADE_VALUE = 15;

/** Functions that read the units of quantities: each takes 40 steps for an element. */
const CONVERTING_FUNCTIONS: ReadonlySet<string> = new Set(['sum', 'avg', 'min', 'max', 'sort']);

/** Functions that take longer than a step; they read units. */
const SLOW_FUNCTIONS: ReadonlyMap<string, number> = new Map([['toQuantity', 40]]);

/**
 * Counts the steps of one evaluation and ends it when the budget is used up.
 *
 * Every evaluated node costs one step and one per item of its result; a step is about 0.1 µs. Long texts cost by their
 * length, and compared elements by the values in them. Functions that compare all items with all cost by the square of
 * their number, and `repeat()` costs more with each repetition.
 */
export class StepBudget {
  spent = 0;
  /**
   * Whether the expression has a union. A union compares all items with each other and is charged only afterwards, so
   * its operands are bounded.
   */
  readonly #hasUnion: boolean;
  /** The expressions inside `repeat()`. */
  readonly #repetitions = new Map<SyntaxNode, Repetition>();
  /** Operands of the comparing operators that were evaluated. */
  readonly #compared = new Set<SyntaxNode>();
  readonly #weights = new ElementWeights();

  constructor(hasUnion: boolean) {
    this.#hasUnion = hasUnion;
  }

  /** @throws FhirError `too-costly` - the budget is used up. */
  spend(steps: number): void {
    this.spent += steps;
    if (this.spent > MAX_STEPS) throw tooCostly();
  }

  /**
   * Called by fhirpath.js after each node, and before functions too.
   *
   * @param focus the node's input.
   * @throws FhirError `too-costly` - the budget is used up.
   */
  charge(focus: unknown, result: unknown, node: SyntaxNode): void {
    let cost = 1;
    if (Array.isArray(result)) {
      cost += result.length;
      if (this.#hasUnion) cost += comparisons(result, 1 / 10) + this.#weights.of(result) / 5;
      if (this.#compared.has(node)) cost += this.#weights.of(result) / 10;
      if (result.length === 1) cost += singleCost(result[0]);
    }
    if (node.type === 'Functn') {
      if (Array.isArray(focus) && COMPARING_FUNCTIONS.has(node.text ?? ''))
        cost += comparisons(focus, 4) + this.#weights.of(focus) / 5;
      if (Array.isArray(focus) && CONVERTING_FUNCTIONS.has(node.text ?? '')) cost += 40 * elementsIn(focus);
      if (node.text === 'repeat') {
        this.#watch(node);
        if (Array.isArray(focus)) cost += this.#weights.of(focus);
      }
      // Making an item takes as long as returning it.
      if (node.text === 'descendants' && Array.isArray(result)) cost += result.length;
      cost += SLOW_FUNCTIONS.get(node.text ?? '') ?? 0;
    }
    if (COMPARING_OPERATORS.has(node.type)) for (const operand of node.children ?? []) this.#compared.add(operand);
    const repetition = this.#repetitions.get(node);
    if (repetition !== undefined) cost += repeatedCost(repetition, Array.isArray(result) ? result : []);
    this.spend(cost);
  }

  #watch(repeat: SyntaxNode): void {
    const inner = repeat.children?.[1]?.children?.[0];
    if (inner !== undefined && !this.#repetitions.has(inner))
      this.#repetitions.set(inner, { evaluations: 0, found: 0, hasPrimitive: false });
  }
}

/** An expression inside `repeat()`. */
interface Repetition {
  evaluations: number;
  /** Items of its results so far. */
  found: number;
  hasPrimitive: boolean;
}

/** fhirpath.js hashes elements, but once there is a primitive value it compares each item with all before it. */
function repeatedCost(repetition: Repetition, items: readonly unknown[]): number {
  const { evaluations, found } = repetition;
  repetition.evaluations += 1;
  repetition.found += items.length;
  repetition.hasPrimitive ||= items.some((item) => !isElement(item) || isMade(item));
  const perPair = items.reduce<number>((sum, item) => sum + (isElement(item) ? 0.6 : 0.15), 0);
  return evaluations / 10 + (repetition.hasPrimitive ? perPair * found : 0);
}

/** Whether fhirpath.js has made it: a decimal of its arithmetic, a quantity, a date or a time. */
function isMade(item: unknown): boolean {
  const value = dataOf(item);
  return isElement(value) && !Array.isArray(value) && !isPlainObject(value);
}

function singleCost(item: unknown): number {
  const value = dataOf(item);
  if (typeof value === 'string') return value.length / 8;
  // Quantities, dates and times of fhirpath.js have a reference to its context.
  return isElement(value) && 'ctx' in value ? STEPS_PER_MADE_VALUE : 0;
}

/**
 * Comparing two primitive values takes about 0.02 steps; comparing two elements includes everything in them.
 * @param perPair steps for each pair of elements
 */
function comparisons(items: readonly unknown[], perPair: number): number {
  const elements = elementsIn(items);
  return (items.length * items.length) / 50 + elements * elements * perPair;
}

function elementsIn(items: readonly unknown[]): number {
  return items.reduce<number>((count, item) => count + (isElement(item) ? 1 : 0), 0);
}

/** Creates the error for an expression that exceeds its budget. */
export function tooCostly(cause?: unknown): FhirError {
  return new FhirError(
    'too-costly',
    `The FHIRPath expression takes more than ${MAX_STEPS} steps; make it select less, or filter by a search parameter`,
    { details: { max: MAX_STEPS }, cause },
  );
}
