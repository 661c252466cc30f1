import { FhirError } from '../fhir/error.js';
import { MAX_EXPRESSION_LENGTH, type SyntaxNode } from './syntax-tree.js';

/** Per evaluation. A typical filter takes 10 to 100 steps; 250,000 steps take about 50 ms. */
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

/**
 * Counts the steps of one evaluation and ends it when the budget is used up.
 *
 * Every evaluated node costs one step and one per item of its result, a step is about 0.1 µs; long texts cost by their
 * length, functions that compare all items with all by the square of their number, `repeat()` costs more with each
 * repetition.
 */
export class StepBudget {
  spent = 0;
  /**
   * Whether the expression has a union. A union compares all items with each other and is charged only afterwards, so
   * its operands are bounded.
   */
  readonly #hasUnion: boolean;
  /** Evaluations so far of each expression inside `repeat()`. */
  readonly #repetitions = new Map<SyntaxNode, number>();

  constructor(hasUnion: boolean) {
    this.#hasUnion = hasUnion;
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
      cost += result.length + (this.#hasUnion ? comparisons(result, 1 / 10) : 0);
      if (result.length === 1 && typeof result[0] === 'string') cost += result[0].length / 8;
    }
    if (node.type === 'Functn') {
      if (Array.isArray(focus) && COMPARING_FUNCTIONS.has(node.text ?? '')) cost += comparisons(focus, 4);
      if (node.text === 'repeat') this.#watch(node);
    }
    const repetition = this.#repetitions.get(node);
    if (repetition !== undefined) {
      this.#repetitions.set(node, repetition + 1);
      cost += repetition / 10;
    }
    this.spent += cost;
    if (this.spent > MAX_STEPS) throw tooCostly();
  }

  #watch(repeat: SyntaxNode): void {
    const inner = repeat.children?.[1]?.children?.[0];
    if (inner !== undefined && !this.#repetitions.has(inner)) this.#repetitions.set(inner, 0);
  }
}

/**
 * Comparing two primitive values takes about 0.02 steps; comparing two elements includes everything in them.
 * @param perPair steps for each pair of elements
 */
function comparisons(items: readonly unknown[], perPair: number): number {
  const elements = items.reduce<number>((count, item) => count + (isElement(item) ? 1 : 0), 0);
  return (items.length * items.length) / 50 + elements * elements * perPair;
}

function isElement(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false;
  // fhirpath.js wraps values that come from a resource.
  return !('data' in item) || (typeof item.data === 'object' && item.data !== null);
}

/** Creates the error for an expression that exceeds its budget. */
export function tooCostly(cause?: unknown): FhirError {
  return new FhirError(
    'too-costly',
    `The FHIRPath expression takes more than ${MAX_STEPS} steps; make it select less, or filter by a search parameter`,
    { details: { max: MAX_STEPS }, cause },
  );
}
