import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import { parameterKey, type RowScope } from '../rows.js';
import type { PagePosition } from './page-order.js';

/** The keys of a sort that can decide between two resources. The id is the last key. */
export class DecidingKeys {
  readonly keys: readonly SortKey[];
  /** Their indexes in the sort, and so in the values of a position. */
  readonly #positions: readonly number[];

  constructor(sort: readonly SortKey[], position: SearchPosition | undefined, scope: RowScope) {
    const id = sort.findIndex(({ parameter }) => parameter === '_id');
    // Keys after the id cannot decide: no two resources have the same id.
    const keys = id < 0 ? [...sort, BY_ID] : sort.slice(0, id + 1);
    // A key without values, in the resources and in the position, cannot decide either.
    const hasPlace = (index: number): boolean => (position?.values[index] ?? null) !== null;
    const deciding = [...keys.entries()].filter(([index, key]) => hasValues(key, scope) || hasPlace(index));
    this.keys = deciding.map(([, key]) => key);
    this.#positions = deciding.map(([position]) => position);
  }

  /** A position with a value for each deciding key, the id included. */
  placeOf(position: SearchPosition | undefined): PagePosition | undefined {
    if (position === undefined) return undefined;
    const { values, id } = position;
    return { values: this.#positions.map((index) => (index < values.length ? values[index]! : id)), id };
  }
}

const BY_ID: SortKey = { parameter: '_id', descending: false };

function hasValues({ parameter }: SortKey, scope: RowScope): boolean {
  return parameter === '_id' || parameter === '_lastUpdated' || parameterKey(scope, parameter) !== undefined;
}
