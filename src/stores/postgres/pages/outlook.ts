import type { Condition } from '../../sql/pages/condition.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import type { Way } from '../../sql/pages/way.js';
import type { RowScope } from '../../sql/rows.js';
import { LikelyShares } from '../skip/sets/likely-shares.js';
import type { SkipSource } from '../skip/read/skip-state.js';
import { firstRows } from '../scans/far.js';
import type { Asked } from '../scans/page-statement.js';
import type { Finding } from '../scans/range-walk.js';
import { TUNING } from '../scans/tuning.js';
import { type PartOfWay, until } from './way.js';

/** Predicts which ways to a page are in vain, by the rows that searches have read lately. Without rows, none is. */
export class Outlook {
  readonly #scope: RowScope;
  readonly #skips: SkipSource | undefined;

  constructor(scope: RowScope, skips: SkipSource | undefined) {
    this.#scope = scope;
    this.#skips = skips;
  }

  /** True if the type is known to have more resources than a look has rows. */
  isLongerThan(look: number): boolean {
    return (this.#shares?.size ?? 0) > look;
  }

  /**
   * Walks a little if the first rows are likely to fill the page: the known shares of the conditions allow it, and the
   * last such walk was not in vain. PERF: a walk in vain takes as long as finding the sets.
   *
   * @param share the share of the resources that match, if known
   */
  async *firstRows(walk: Way<Finding>, asked: Asked, conditions: readonly Condition[], share?: number): PartOfWay {
    const { parameter } = asked.order.keys[asked.level]!;
    const isFilled = (share ?? this.#shareOf(asked, conditions)) * firstRows(conditions, parameter) >= asked.need;
    if (this.#shares !== undefined && !isFilled) return undefined;
    const name = this.#nameOf(asked, conditions);
    const vain = this.#skips?.cache.get(name) as VainWalk | undefined;
    if (vain !== undefined && vain.left-- > 0) return undefined;
    const found = yield* until(TUNING.walkedFirst, walk);
    const noted: VainWalk = { left: TUNING.walkedAgain, byteLength: 2 * name.length };
    if (found === undefined) this.#skips?.cache.set(name, noted);
    else this.#skips?.cache.delete(name);
    return found;
  }

  /** Omits conditions that probably have so many matches that a look gives up. @param look maximum rows of a scan */
  maybeShort(look: number, conditions: readonly Condition[]): readonly Condition[] {
    const shares = this.#shares;
    if (shares === undefined || look === Infinity) return conditions;
    const most = look * TUNING.surelyLonger;
    return conditions.filter((one) => (shares.ofCondition(one) ?? 0) * shares.size <= most);
  }

  /** Searches that differ only in their values have the same name. */
  #nameOf({ order, level }: Asked, conditions: readonly Condition[]): string {
    const { project, type } = this.#scope;
    const criteria = conditions.map((one) => one.criteria);
    return `walk ${JSON.stringify([project, type, order.keys.slice(level), criteria], SHAPE).slice(0, MAX_NAME)}`;
  }

  #shareOf({ order, level }: Asked, conditions: readonly Condition[]): number {
    const { parameter } = order.keys[level]!;
    // A walk begins in the range of its key, so conditions on that range do not count.
    const others = conditions.filter(({ criteria }) => criteria === undefined || !rangeOf(criteria, parameter));
    return this.#shares?.ofAll(others) ?? 1;
  }

  get #shares(): LikelyShares | undefined {
    return this.#skips && LikelyShares.of(this.#scope, this.#skips);
  }
}

/** A walk whose first rows did not fill the page. */
interface VainWalk {
  /** How many searches skip such a walk before it is tried again. */
  left: number;
  readonly byteLength: number;
}

/** The members of criteria and sort keys that do not hold values. */
const SHAPE = [
  ...['kind', 'of', 'parameter', 'descending', 'type', 'reach', 'missing'],
  ...['test', 'tests', 'prefix', 'comparator', 'negated'],
];

/** Maximum characters of a name, because criteria may have thousands of alternatives. */
const MAX_NAME = 2_000;
