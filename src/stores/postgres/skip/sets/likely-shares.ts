import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import type { Condition } from '../../../sql/pages/condition.js';
import { partWith, rangeOf } from '../../../sql/pages/value-range.js';
import type { RowScope } from '../../../sql/rows.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { equalTestOf } from '../../../sql/skip/other-values.js';
import { askedUnit } from '../../../sql/skip/unit-sets.js';
import { ABSENT, type Kept, type SkipCache } from '../read/skip-cache.js';
import {
  BY_SMALLEST,
  inSystemName,
  ORDER,
  PRESENCE,
  SETS,
  SKIP_TUNING,
  type SkipHeader,
  type SkipOrder,
  subjectOf,
  valueName,
} from '../../rows/skip-row.js';
import type { SkipSource } from '../read/skip-state.js';
import { targetName } from './target-name.js';
import { type Asked, askedIn } from './token-sets.js';

/**
 * Estimates the share of a type's resources that meet criteria, from the rows of its skip index that searches have read
 * lately. It costs no statement, may be out of date, and ignores layers. So it only decides which way to a page comes first.
 */
export class LikelyShares {
  /** Number of resources. */
  readonly size: number;
  readonly #header: SkipHeader;
  readonly #scope: RowScope;
  readonly #cache: SkipCache;

  private constructor(header: SkipHeader, scope: RowScope, cache: SkipCache) {
    this.#header = header;
    this.#scope = scope;
    this.#cache = cache;
    this.size = header.size;
  }

  /** Undefined if no search of this process has used the skip index of the type lately. */
  static of(scope: RowScope, { cache, epoch }: SkipSource): LikelyShares | undefined {
    const last = cache.get(lastName(scope)) as LastHeader | undefined;
    return last?.header.epoch === epoch ? new LikelyShares(last.header, scope, cache) : undefined;
  }

  /** Remembers the header that a search has read. */
  static note(scope: RowScope, header: SkipHeader, cache: SkipCache): void {
    const last: LastHeader = { header, byteLength: HEADER_BYTES };
    cache.set(lastName(scope), last);
  }

  /** The share that meets all of several independent conditions. Unknown shares count as 1. */
  ofAll(conditions: readonly Condition[]): number {
    return conditions.reduce((share, one) => share * (this.ofCondition(one) ?? 1), 1);
  }

  /** Undefined if nothing is known. */
  ofCondition({ criteria, shared }: Condition): number | undefined {
    if (criteria !== undefined) return this.of(criteria);
    return shared && this.#ofSet(shared.parameter, valueName(String(shared.value)));
  }

  /** As {@link ofCondition}. */
  of(criteria: Criteria): number | undefined {
    switch (criteria.kind) {
      case 'all':
        return 1;
      case 'none':
        return 0;
      case 'and':
        return least(criteria.of.map((one) => this.of(one)));
      case 'or':
        return sum(criteria.of.map((one) => this.of(one)));
      case 'not':
        return rest(this.of(criteria.of));
      case 'missing': {
        const present = this.#ofSet(criteria.parameter, PRESENCE);
        return criteria.missing ? rest(present) : present;
      }
      case 'id':
        return 0;
      case 'last-updated':
        return this.#ofRange(criteria, '_lastUpdated');
      case 'match':
        return this.#ofMatch(criteria);
      default:
        return undefined;
    }
  }

  #ofMatch(criteria: MatchCriteria): number | undefined {
    const { parameter, test } = criteria;
    const equal = equalTestOf(test);
    if (equal !== undefined) return rest(this.#ofMatch({ ...criteria, test: equal.test }));
    switch (test.kind) {
      case 'token': {
        const asked = askedIn(test);
        return asked && sum(asked.map((one) => this.#ofCode(parameter, one)));
      }
      case 'reference': {
        const target = targetName(test, this.#scope);
        return target === undefined ? undefined : this.#ofSet(parameter, target);
      }
      case 'quantity': {
        const unit = askedUnit(test, this.#scope);
        const ofUnit = unit === undefined ? 1 : this.#ofSet(parameter, valueName(unit));
        return least([this.#ofRange(criteria, parameter), ofUnit]);
      }
      default:
        return this.#ofRange(criteria, parameter);
    }
  }

  #ofCode(parameter: string, { code, system }: Asked): number | undefined {
    if (code === undefined) return this.#ofSet(parameter, PRESENCE);
    const own = system === undefined ? undefined : this.#ofSet(parameter, inSystemName(system, code));
    return own ?? this.#ofSet(parameter, valueName(code));
  }

  /** The largest share that an infrequent value can have. */
  #ofSet(parameter: string | number, value: string): number | undefined {
    const subject = typeof parameter === 'number' ? parameter : this.#keyOf(parameter);
    const row = subject === undefined ? undefined : this.#row(SETS, subject, value);
    if (row === ABSENT) return value === PRESENCE ? 0 : SKIP_TUNING.minHolders / this.size;
    return row instanceof KeySet ? countOf(row) / this.size : undefined;
  }

  #ofRange(criteria: Criteria, parameter: string): number | undefined {
    const range = rangeOf(criteria, parameter);
    const sort = this.#keyOf(parameter);
    const row = range === undefined || sort === undefined ? undefined : this.#row(sort, BY_SMALLEST, ORDER);
    if (range === undefined || row === undefined || row === ABSENT) return undefined;
    const { starts } = row as SkipOrder;
    if (starts.length === 0) return 0;
    const from = range.low === undefined ? 0 : partWith(starts, range.low);
    const to = range.high === undefined ? starts.length - 1 : partWith(starts, range.high);
    return ((to - from + 1) / starts.length) * (this.#ofSet(parameter, PRESENCE) ?? 1);
  }

  #keyOf(parameter: string): number | undefined {
    return parameter.includes('$') ? undefined : subjectOf(parameter, this.#scope);
  }

  #row(sort: number, subject: number, value: string): Kept | undefined {
    return this.#cache.get(`${this.#header.id} ${sort} ${subject} ${value}`);
  }
}

/** The header of the skip index that a search of a type has used last. */
interface LastHeader {
  readonly header: SkipHeader;
  readonly byteLength: number;
}

const HEADER_BYTES = 512;

function lastName({ project, type }: RowScope): string {
  return `last ${JSON.stringify([project, type])}`;
}

function rest(share: number | undefined): number | undefined {
  return share === undefined ? undefined : 1 - share;
}

/** The share that meets all conditions: at most the smallest known one. */
function least(shares: readonly (number | undefined)[]): number | undefined {
  const known = shares.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function sum(shares: readonly (number | undefined)[]): number | undefined {
  let all = 0;
  for (const one of shares) {
    if (one === undefined) return undefined;
    all += one;
  }
  return Math.min(1, all);
}

const counts = new WeakMap<KeySet, number>();

/** PERF: counting the members of a set of a million takes 30 µs. The counts of stored sets do not change. */
function countOf(set: KeySet): number {
  let count = counts.get(set);
  if (count === undefined) counts.set(set, (count = set.count));
  return count;
}
