import type { Condition } from '../../sql/pages/condition.js';
import type { FoundRow } from './found-row.js';
import type { PagePosition } from '../../sql/pages/page-order.js';

/** The rows to find: they meet the conditions, and are in the order of the keys from a level on. */
export interface Asked {
  /** The first key of the order that counts: the rows are equal in the keys before it. */
  readonly level: number;
  readonly conditions: readonly Condition[];
  readonly need: number;
  /** The position where the rows begin. Its values begin with the key of `level`. */
  readonly place: PagePosition | undefined;
}

/** Yields the number of rows read since the last step, and returns the matches. */
export type Finding = Generator<number, readonly FoundRow[]>;
