import { FhirError } from '../fhir/error.js';
import { MAX_EXPRESSION_LENGTH, type SyntaxNode } from './syntax-tree.js';

/** Steps that one evaluation may take. An everyday filter takes ten to a hundred; this many take about 50 ms. */
const MAX_STEPS = 250_000;

/** Takes note of the work of evaluations, so that many of them together have an end, too. It may throw. */
export interface StepMeter {
  /** @param steps what the evaluation took; 0 before it begins */
  spend(steps: number): void;
  /** Told of an expression before it is compiled. */
  spendExpression(expression: string): void;
}

/** What it takes to compile an expression, in steps: two milliseconds and more, the longer the longer. One that is too long is not compiled. */
export function compilationSteps(expression: string): number {
  return 20_000 + 40 * Math.min(expression.length, MAX_EXPRESSION_LENGTH);
}

/** Functions that compare all items with all. They are seen before they run, so that what they cost is known first. */
const COMPARING_FUNCTIONS: ReadonlySet<string> = new Set([
  ...['distinct', 'exclude', 'intersect', 'isDistinct', 'subsetOf', 'supersetOf', 'union'],
]);

/**
 * Counts the work of one evaluation and ends it when it grows out of proportion.
 *
 * Every evaluated node costs one step and one per item of its result, a step being about a tenth of a microsecond; long
 * texts cost by their length, functions that compare all items with all by the square of their number, `repeat()` the
 * more the more it repeats.
 */
export class StepBudget {
  /** Steps taken so far. */
  spent = 0;
  /** What an operand may take part in: a union compares all items with all, and is seen only when it is done. */
  readonly #hasUnion: boolean;
  /** Evaluations so far of each expression inside a `repeat()`. */
  readonly #repetitions = new Map<SyntaxNode, number>();

  constructor(hasUnion: boolean) {
    this.#hasUnion = hasUnion;
  }

  /**
   * Called by the library after each node; functions are seen before they run, too.
   *
   * @param focus what the node was evaluated on.
   * @throws FhirError `too-costly` - the steps are used up.
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
 * Comparing two plain values takes about a fiftieth of a step; two elements are compared with all that is in them.
 *
 * @param perPair steps for each pair of elements
 */
function comparisons(items: readonly unknown[], perPair: number): number {
  const elements = items.reduce<number>((count, item) => count + (isElement(item) ? 1 : 0), 0);
  return (items.length * items.length) / 50 + elements * elements * perPair;
}

function isElement(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false;
  // The library wraps what comes out of a resource.
  return !('data' in item) || (typeof item.data === 'object' && item.data !== null);
}

/** The error for an expression that takes too much work. */
export function tooCostly(cause?: unknown): FhirError {
  return new FhirError(
    'too-costly',
    `The FHIRPath expression takes more than ${MAX_STEPS} steps; make it select less, or filter by a search parameter`,
    { details: { max: MAX_STEPS }, cause },
  );
}
