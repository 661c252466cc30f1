import type { Criteria, MatchCriteria } from '../../../../search/criteria/criteria.js';
import { type Condition, targetOf } from '../../../sql/pages/condition.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import type { Statements } from '../../database/statements.js';
import { type PresenceSets, setOfComposite } from '../../../sql/skip/composite-set.js';
import {
  type ConditionSet,
  type KnownSets,
  type MemberCondition,
  setOfCriteria,
} from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { asksForUnit } from '../../../sql/skip/range-tests.js';
import { askedUnit, inAnyUnit, OTHER_UNITS, setInUnit, setOfUnit, SEVERAL_UNITS } from '../../../sql/skip/unit-sets.js';
import { type FindsSets, LinkedSets } from './linked-sets.js';
import { GroupSets } from './group-sets.js';
import { OtherSets, type Target } from './other-sets.js';
import { RangeSets } from './range-sets.js';
import { MAX_SCANNED, ScannedSets } from './scanned-sets.js';
import { TokenSets } from './token-sets.js';
import type { SkipIndex } from '../read/skip-index.js';
import { PRESENCE, SEVERAL, SKIP_TUNING } from '../../rows/skip-row.js';

/** Finds the sets of conditions: those that the skip index keeps, parts of its orders, and scans. */
export class ConditionSets implements FindsSets {
  readonly index: SkipIndex;
  readonly #scope: RowScope;
  readonly #statements: Statements;
  readonly #linked: LinkedSets;
  readonly #scanned: ScannedSets;
  readonly #ranges: RangeSets;
  readonly #others: OtherSets;
  readonly #tokens: TokenSets;
  readonly #presence: PresenceSets;
  readonly #groups: GroupSets;
  readonly #known = new Map<Condition, ConditionSet | undefined>();

  constructor(index: SkipIndex, scope: RowScope, statements: Statements, linked: LinkedSets) {
    this.index = index;
    this.#scope = scope;
    this.#statements = statements;
    this.#linked = linked;
    this.#scanned = new ScannedSets(index, scope, statements);
    this.#ranges = new RangeSets(index, scope, statements, this.#scanned);
    this.#others = new OtherSets(index, scope, this.#scanned, (target) => this.#keyOf(target));
    this.#tokens = new TokenSets(index, scope);
    this.#groups = new GroupSets(index, scope, statements);
    this.#presence = {
      emptySet: () => index.emptySet(),
      present: (key) => index.setOf(key as number, PRESENCE),
      several: (key) => index.setOf(key as number, SEVERAL),
    };
  }

  /** The set for a page. Undefined if finding it takes too long. */
  of(condition: MemberCondition): ConditionSet | undefined {
    if (!this.#known.has(condition)) this.#known.set(condition, this.#find(condition));
    return this.#known.get(condition);
  }

  /** The set for a count, made exact if that takes at most `limit` rows. Undefined if finding it takes too long. */
  counted(condition: Condition, limit: number): ConditionSet | undefined {
    const { criteria, shared } = condition;
    return criteria === undefined || shared !== undefined
      ? this.of(condition)
      : setOfCriteria(criteria, this.#within(limit));
  }

  scanned(condition: Condition): ConditionSet | undefined {
    if (condition.direct !== true || condition.scan === undefined) return undefined;
    return this.#scanned.of(condition.scan);
  }

  #find(condition: MemberCondition): ConditionSet | undefined {
    const { members, shared, criteria } = condition;
    if (members !== undefined) return { set: members, exact: true };
    const held = shared && this.index.setOf(shared.parameter, shared.value);
    if (shared !== undefined && held !== undefined) {
      return { set: held, exact: shared.suffices || !this.index.hasSeveral(shared.parameter) };
    }
    const found = criteria && setOfCriteria(criteria, this.#within(undefined));
    if (found !== undefined || (condition.direct !== true && (condition.reads ?? Infinity) > MAX_READ)) return found;
    return condition.scan && this.#scanned.of(condition.scan);
  }

  /** @param limit rows that may be read for an exact set; undefined: the limit of a page */
  #within(limit: number | undefined): KnownSets {
    return {
      all: this.index.all,
      isForCount: limit !== undefined,
      emptySet: () => this.index.emptySet(),
      present: (parameter) => this.#present(parameter),
      setOf: (criteria) => this.#setOf(criteria, limit),
    };
  }

  #setOf(criteria: Criteria, limit: number | undefined): ConditionSet | undefined {
    this.index.check();
    switch (criteria.kind) {
      case 'match':
        // A parameter without a key has never had a value.
        if (parameterKey(this.#scope, criteria.parameter) === undefined) {
          return { set: this.index.emptySet(), exact: true };
        }
        return limit === undefined ? this.#matching(criteria) : this.#exactly(criteria, limit);
      case 'last-updated': {
        const found = this.#ranges.of(criteria, '_lastUpdated');
        if (limit === undefined || found?.exact === true) return found;
        return this.#scanned.inValues(criteria, limit) ?? found;
      }
      case 'id':
        return this.#scanned.inRanges(criteria, SKIP_TUNING.maxLookedUp);
      case 'composite':
        return (
          this.#groups.of(criteria, limit ?? SKIP_TUNING.maxLookedUp) ??
          setOfComposite(criteria, this.#scope, this.#presence, (part) => this.#setOf(part, limit))
        );
      case 'has':
        return this.#linked.having(criteria, limit);
      case 'chain':
        return this.#linked.chained(criteria, limit);
      default:
        return undefined;
    }
  }

  #matching(criteria: MatchCriteria): ConditionSet | undefined {
    const { maxLookedUp } = SKIP_TUNING;
    return (
      this.#held(criteria) ??
      this.#inUnit(criteria, undefined) ??
      (this.#ranges.hasMore(criteria, maxLookedUp) ? undefined : this.#scanned.inRanges(criteria, maxLookedUp)) ??
      this.#ranges.of(criteria, criteria.parameter) ??
      this.#otherThan(criteria, undefined) ??
      // For example `contains` as an alternative of another condition.
      this.#scanned.inValues(criteria, MAX_SCANNED)
    );
  }

  /** The set, exact if one of the ways to it is exact. */
  #exactly(criteria: MatchCriteria, limit: number): ConditionSet | undefined {
    let found: ConditionSet | undefined;
    const ways = [
      () => this.#held(criteria),
      () => this.#inUnit(criteria, limit),
      () => this.#scanned.inRanges(criteria, Math.min(limit, SKIP_TUNING.maxLookedUp)),
      () => (asksForUnit(criteria.test) ? undefined : this.#ranges.of(criteria, criteria.parameter, limit)),
      () => this.#otherThan(criteria, limit),
      () => this.#scanned.inValues(criteria, limit),
    ];
    for (const way of ways) {
      const set = way();
      if (set?.exact === true) return set;
      found ??= set;
    }
    return found;
  }

  /** The set of codes, systems or a target that many resources have. */
  #held(criteria: MatchCriteria): ConditionSet | undefined {
    const { parameter, test } = criteria;
    if (test.kind === 'token') return this.#tokens.having(criteria);
    const asked = this.#scope.baseUrl === undefined && !parameter.includes('$') ? targetOf(test) : undefined;
    const target = asked && this.#keyOf(asked);
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    // A value without a set is rare and must be looked up.
    const set = target === undefined || key === undefined ? undefined : this.index.setOf(key, target);
    return set && { set, exact: true };
  }

  /** A range of values in a unit that is kept: exact for resources whose values have one unit. */
  #inUnit({ kind, parameter, test }: MatchCriteria, limit: number | undefined): ConditionSet | undefined {
    if (test.kind !== 'quantity' || parameter.includes('$')) return undefined;
    const [key, unit] = [parameterKey(this.#scope, parameter) as number, askedUnit(test, this.#scope)];
    const several = unit === undefined ? undefined : this.index.setOf(key, SEVERAL_UNITS);
    if (unit === undefined || several === undefined) return undefined;
    const [own, others] = [this.index.setOf(key, unit), this.index.setOf(key, OTHER_UNITS)];
    if (own === undefined && this.index.keepsUnit(key, unit)) return undefined;
    // Indexes of older versions have no set of other units.
    const held = others === undefined ? own && { set: own, exact: true } : setOfUnit(own, others);
    if (held === undefined || (held.exact && held.set.count === 0)) return held;
    const inAny = this.#ranges.of({ kind, parameter, test: inAnyUnit(test) }, parameter, limit);
    return setInUnit(inAny, held, several);
  }

  #keyOf({ type, id }: Target): number | undefined {
    const [key] = (this.#statements.read(FIND_TARGET).get(this.#scope.project, type, id) ?? []) as [number?];
    return key;
  }

  #otherThan(criteria: MatchCriteria, limit: number | undefined): ConditionSet | undefined {
    const others = this.#tokens.others(criteria);
    if (others !== undefined) return others;
    const present = this.#present(criteria.parameter);
    return present && this.#others.of(criteria, present, (equal) => this.#setOf(equal, limit), limit);
  }

  #present(parameter: string): KeySet | undefined {
    if (parameter.includes('$')) return undefined;
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    return key === undefined ? this.index.emptySet() : this.index.present(key);
  }
}

/** The sets of a type of a project. @param indexOf returns undefined if a type has no valid skip index */
export function conditionSets(
  scope: RowScope,
  statements: Statements,
  indexOf: (collection: number) => SkipIndex | undefined,
): ConditionSets | undefined {
  const { collection } = scope;
  const index = collection === undefined ? undefined : indexOf(collection as number);
  if (index === undefined) return undefined;
  const setsOf = (other: RowScope): ConditionSets | undefined => conditionSets(other, statements, indexOf);
  return new ConditionSets(index, scope, statements, new LinkedSets(index, scope, statements, setsOf));
}

/** Maximum rows that a scan may read for its matches. */
const MAX_READ = 50_000;

const FIND_TARGET = `SELECT r.key FROM collection c CROSS JOIN resource r ON r.collection = c.key
  WHERE c.project = ? AND c.type = ? AND r.id = ?`;
