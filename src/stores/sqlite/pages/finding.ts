import type { Condition } from '../../sql/pages/condition.js';
import type { FoundRow } from './found-row.js';
import type { PagePosition } from '../../sql/pages/page-order.js';

/** Rows to be found: those that meet conditions, from some key of the order on. */
export interface Asked {
  /** The first key of the order that counts: the keys before it are equal. */
  readonly level: number;
  readonly conditions: readonly Condition[];
  readonly need: number;
  /** Where the rows begin. Its values begin with that key. */
  readonly place: PagePosition | undefined;
}

/** Yields the number of rows read since the last step, and returns the matches. */
export type Finding = Generator<number, readonly FoundRow[]>;
