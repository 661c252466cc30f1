import type { Condition } from '../../sql/pages/condition.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import type { RowScope } from '../../sql/rows.js';
import { LikelyShares } from '../skip/sets/likely-shares.js';
import type { SkipSource } from '../skip/read/skip-state.js';
import { firstRows } from '../scans/far.js';
import type { Asked } from '../scans/page-statement.js';
import { TUNING } from '../scans/tuning.js';

/** Which ways to a page are likely to be in vain, by what searches have read lately. Where nothing is known, none is. */
export class Outlook {
  readonly #scope: RowScope;
  readonly #skips: SkipSource | undefined;

  constructor(scope: RowScope, skips: SkipSource | undefined) {
    this.#scope = scope;
    this.#skips = skips;
  }

  /** The type is known to have more resources than a look has rows. */
  isLongerThan(look: number): boolean {
    return (this.#shares?.size ?? 0) > look;
  }

  /** The first stretch of a walk is likely to have a page. @param share of the resources that match */
  isFilled(asked: Asked, conditions: readonly Condition[], share = this.#shareOf(asked, conditions)): boolean {
    const { parameter } = asked.order.keys[asked.level]!;
    return this.#shares === undefined || share * firstRows(conditions, parameter) >= asked.need;
  }

  /** Without those of which so many are likely to match that a look gives up. @param look the most rows of a scan */
  maybeShort(look: number, conditions: readonly Condition[]): readonly Condition[] {
    const shares = this.#shares;
    if (shares === undefined || look === Infinity) return conditions;
    const most = look * TUNING.surelyLonger;
    return conditions.filter((one) => (shares.ofCondition(one) ?? 0) * shares.size <= most);
  }

  #shareOf({ order, level }: Asked, conditions: readonly Condition[]): number {
    const { parameter } = order.keys[level]!;
    // A walk begins in a range of its key.
    const others = conditions.filter(({ criteria }) => criteria === undefined || !rangeOf(criteria, parameter));
    return this.#shares?.ofAll(others) ?? 1;
  }

  get #shares(): LikelyShares | undefined {
    return this.#skips && LikelyShares.of(this.#scope, this.#skips);
  }
}
