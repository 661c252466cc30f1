import { setImmediate as turn } from 'node:timers/promises';
import { partWith } from '../../sql/pages/value-range.js';
import type { SkipOrderKeys } from '../skip/read/order-keys.js';
import type { SkipIndex } from '../skip/read/skip-index.js';
import { GRANULES_IN_ROW } from '../rows/skip-row.js';
import type { Asked } from '../scans/page-statement.js';
import { TUNING } from '../scans/tuning.js';

/** Loads the rows of granules that are read one after the other, more and more of them at a time. */
export class GranulesAhead {
  readonly #index: SkipIndex;
  readonly #order: SkipOrderKeys;
  readonly #granules: readonly number[];
  #end = 0;
  #size = 1;

  constructor(index: SkipIndex, order: SkipOrderKeys, granules: readonly number[]) {
    this.#index = index;
    this.#order = order;
    this.#granules = granules;
  }

  /** @param position of a granule among the granules */
  lacks(position: number): boolean {
    return position >= this.#end;
  }

  /** Loads the rows of the next granules. @returns the cost in rows */
  async load(position: number): Promise<number> {
    const next = this.#granules.slice(position, position + this.#size * GRANULES_IN_ROW);
    this.#end = position + next.length;
    if (this.#size < MAX_AHEAD) this.#size *= 2;
    // Recently read rows come without a wait, so this gives other work its turn.
    else await turn();
    const rows = next.flatMap((one) => this.#order.rowsOf(one, one)).map((row) => [row.value, row] as const);
    const wanted = [...new Map(rows).values()];
    await this.#index.load(wanted);
    return wanted.length * TUNING.rowsPerGranules;
  }
}

/** Maximum rows of granules that are loaded together: some milliseconds. */
const MAX_AHEAD = 32;

/** The granules from a position on, in the order of the page. */
export function granulesFrom({ order, level, place }: Asked, { starts }: SkipOrderKeys): readonly number[] {
  const granules = [...starts.keys()];
  const falling = order.keys[level]!.descending !== order.backwards;
  if (falling) granules.reverse();
  const missing = starts.length;
  const all = order.backwards ? [missing, ...granules] : [...granules, missing];
  const at = place?.values[0];
  if (at === undefined) return all;
  return all.slice(all.indexOf(at === null ? missing : partWith(starts, at)));
}
