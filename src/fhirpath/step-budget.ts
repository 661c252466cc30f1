import { FhirError } from '../fhir/error.js';
import type { SyntaxNode } from './syntax-tree.js';

/** Steps that one evaluation may take. An everyday filter takes ten to a hundred; this many take about 50 ms. */
const MOST_STEPS = 250_000;

/**
 * Counts the work of one evaluation and ends it when it grows out of proportion.
 *
 * Every evaluated node costs one step, plus one per item of its result, plus their square by a hundred, since many
 * functions compare all items with all; long strings cost by their length. `repeat()` costs more the more it repeats.
 */
export class StepBudget {
  #left = MOST_STEPS;
  /** Evaluations so far of each expression inside a `repeat()`. */
  readonly #repetitions = new Map<SyntaxNode, number>();

  /**
   * Called by the library after each node.
   *
   * @throws FhirError `too-costly` - the steps are used up.
   */
  charge(result: unknown, node: SyntaxNode): void {
    let cost = 1;
    if (Array.isArray(result)) {
      const { length } = result;
      cost += length + (length * length) / 100;
      if (length === 1 && typeof result[0] === 'string') cost += result[0].length / 16;
    }
    if (node.type === 'Functn' && node.text === 'repeat') this.#watch(node);
    const repetition = this.#repetitions.get(node);
    if (repetition !== undefined) {
      this.#repetitions.set(node, repetition + 1);
      cost += repetition / 10;
    }
    this.#left -= cost;
    if (this.#left < 0) throw tooCostly();
  }

  #watch(repeat: SyntaxNode): void {
    const inner = repeat.children?.[1]?.children?.[0];
    if (inner !== undefined && !this.#repetitions.has(inner)) this.#repetitions.set(inner, 0);
  }
}

/** The error for an expression that takes too much work. */
export function tooCostly(cause?: unknown): FhirError {
  return new FhirError(
    'too-costly',
    `The FHIRPath expression takes more than ${MOST_STEPS} steps; make it select less, or filter by a search parameter`,
    { details: { limit: MOST_STEPS }, cause },
  );
}
