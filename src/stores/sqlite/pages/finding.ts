import type { Condition } from '../../sql/pages/condition.js';
import type { FoundRow } from '../../sql/pages/found-row.js';
import type { PagePosition } from '../../sql/pages/page-order.js';
import type { OrderIndex } from './order-index.js';
import type { Bounds } from '../../sql/pages/walk-bounds.js';

/** Yields the number of rows read since the last step, and returns the matches. */
export type Finding = Generator<number, readonly FoundRow[]>;

/** The part of an order in which the matches have values within bounds. */
export interface WalkedRange {
  readonly level: number;
  readonly index: OrderIndex;
  readonly bounds: Bounds;
  readonly conditions: readonly Condition[];
  readonly place: PagePosition | undefined;
}
