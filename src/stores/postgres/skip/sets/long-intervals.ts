import { partWith } from '../../../sql/pages/value-range.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import type { Sql } from '../../../sql/sql.js';
import type { SkipOrderKeys } from '../read/order-keys.js';
import type { LongScan } from '../format/range-values.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { RowName } from '../read/skip-rows.js';

/**
 * Finds the long intervals that match or fail a range because of their end.
 *
 * PERF: periods without an end are long, and some types have little else: every such period that began before a range reaches
 * into it. If they are many, the skip index has them by the end of the last one of each resource, so only one granule is read.
 */
export class LongIntervals {
  readonly #long: LongScan | undefined;
  readonly #ends: SkipOrderKeys | undefined;
  /** The resources that were read; undefined if they are too many. */
  #read: KeySet | undefined;

  /** @param long undefined if no long interval can decide */
  constructor(long: LongScan | undefined, index: SkipIndex, ends: SkipOrderKeys | undefined) {
    this.#long = long;
    this.#ends = ends;
    this.#read = index.emptySet();
  }

  /** Whether the skip index has their order. */
  get areOrdered(): boolean {
    return this.#long !== undefined && this.#ends !== undefined;
  }

  /** The rows of the granules from the bound on. */
  get granules(): readonly RowName[] {
    if (this.#long === undefined || this.#ends === undefined) return [];
    return this.#ends.rowsOf(partWith(this.#ends.starts, this.#long.bound), this.#ends.starts.length - 1);
  }

  get scans(): readonly { readonly scan: Sql; keep(set: KeySet | undefined): void }[] {
    const scan = this.#scan();
    return scan === undefined ? [] : [{ scan, keep: (set) => void (this.#read = set) }];
  }

  /** The resources, once all is read. Undefined if they are too many. */
  find(): KeySet | undefined {
    const [ends, found] = [this.#ends, this.#read];
    if (this.#long === undefined || ends === undefined || found === undefined) return found;
    const { bound } = this.#long;
    for (let granule = partWith(ends.starts, bound); granule < ends.starts.length; granule++) {
      if (Number(ends.starts[granule]) > bound) ends.addTo(found, granule);
    }
    return found;
  }

  /** The granule with the bound is tested; all granules after it are in the set. */
  #scan(): Sql | undefined {
    if (this.#long === undefined || this.#ends === undefined) return this.#long?.scan;
    const { bound } = this.#long;
    const { starts } = this.#ends;
    const granule = partWith(starts, bound);
    if (Number(starts[granule]) > bound) return undefined;
    return this.#long.before(granule + 1 === starts.length ? undefined : Number(starts[granule + 1]));
  }
}
