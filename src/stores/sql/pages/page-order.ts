import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import type { RowScope } from '../rows.js';

/** The order of a page. Its keys are levels: resources with equal values of one key are in the order of the next. */
export interface PageOrder {
  readonly scope: RowScope;
  /** The sort keys; the last one is the id. */
  readonly keys: readonly SortKey[];
  /** True if the page is found from its end. */
  readonly backwards: boolean;
}

/** A position in the order of a page, from some key of the sort on. */
export interface PagePosition {
  readonly values: SearchPosition['values'];
  readonly id: string;
}
