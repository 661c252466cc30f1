import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import type { PagePosition } from '../../sql/pages/page-order.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';

/** The keys of a sort that decide. The id is the last one. */
export class DecidingKeys {
  readonly keys: readonly SortKey[];
  /** Their indexes in the sort, and so in the values of a position. */
  readonly #positions: readonly number[];

  constructor(sort: readonly SortKey[], scope: RowScope) {
    const id = sort.findIndex(({ parameter }) => parameter === '_id');
    // Nothing after the id can still decide.
    const keys = id < 0 ? [...sort, BY_ID] : sort.slice(0, id + 1);
    // Nor can a key that no resource has a value of.
    const deciding = [...keys.entries()].filter(([, key]) => hasValues(key, scope));
    this.keys = deciding.map(([, key]) => key);
    this.#positions = deciding.map(([position]) => position);
  }

  /** The id is a key like the others, whether or not it was asked for. */
  placeOf({ values, id }: SearchPosition): PagePosition {
    return { values: this.#positions.map((index) => (index < values.length ? values[index]! : id)), id };
  }

  /** No resource has a value, and the position has: it comes before all. */
  isAfterAll(position: SearchPosition | undefined): boolean {
    return position?.values.some((value, index) => value !== null && this.#isDropped(index)) === true;
  }

  #isDropped(index: number): boolean {
    return index < (this.#positions.at(-1) ?? 0) && !this.#positions.includes(index);
  }
}

const BY_ID: SortKey = { parameter: '_id', descending: false };

function hasValues({ parameter }: SortKey, scope: RowScope): boolean {
  return parameter === '_id' || parameter === '_lastUpdated' || parameterKey(scope, parameter) !== undefined;
}
