import type { Criteria } from '../../../search/criteria/criteria.js';
import type { Condition } from '../pages/condition.js';
import type { KeySet } from './key-set.js';

/** A condition whose matches are known to be in a set; resources written since the index was built can match too. */
export interface MemberCondition extends Condition {
  readonly members?: KeySet;
}

/** The resources that can meet a condition, apart from those written since the index was built. */
export interface ConditionSet {
  readonly set: KeySet;
  /** True if all of these resources meet the condition. */
  readonly exact: boolean;
  /** Resources that certainly meet the condition. Only for a set that is not exact. */
  readonly sure?: KeySet | undefined;
}

/** Sets of the resources of a type, as a store knows them. */
export interface KnownSets {
  readonly all: KeySet;
  /** True if resources that certainly meet a condition help even if all may meet it: a count tests only the others. */
  readonly isForCount?: boolean;
  emptySet(): KeySet;
  /** The resources with a value of a parameter; undefined if that is not known. */
  present(parameter: string): KeySet | undefined;
  /** The set of criteria without inner criteria; undefined if finding it takes too long. */
  setOf(criteria: Criteria): ConditionSet | undefined;
}

/** Combines the sets of inner criteria into the set of the whole. Undefined if finding it takes too long. */
export function setOfCriteria(criteria: Criteria, known: KnownSets): ConditionSet | undefined {
  switch (criteria.kind) {
    case 'none':
      return { set: known.emptySet(), exact: true };
    case 'and':
      return intersection(criteria.of.map((one) => setOfCriteria(one, known)));
    case 'or':
      return unionOf(criteria.of, (one) => setOfCriteria(one, known));
    case 'not': {
      const inner = setOfCriteria(criteria.of, known);
      const sure = inner && (sureOf(inner) ?? (known.isForCount === true ? known.emptySet() : undefined));
      if (inner === undefined || sure === undefined) return undefined;
      const failing = known.all.copy().subtract(inner.set);
      return inner.exact
        ? { set: failing, exact: true }
        : { set: known.all.copy().subtract(sure), exact: false, sure: failing };
    }
    case 'missing': {
      const present = known.present(criteria.parameter);
      if (present === undefined) return undefined;
      return { set: criteria.missing ? known.all.copy().subtract(present) : present, exact: true };
    }
    default:
      return known.setOf(criteria);
  }
}

/** The intersection: exact if every set is. */
export function intersection(sets: readonly (ConditionSet | undefined)[]): ConditionSet | undefined {
  const known = sets.filter((one) => one !== undefined);
  if (known.length === 0) return undefined;
  const set = common(known.map((one) => one.set));
  if (known.length === sets.length && known.every((one) => one.exact)) return { set, exact: true };
  const sure = known.map(sureOf).filter((one) => one !== undefined);
  return { set, exact: false, sure: sure.length < sets.length ? undefined : common(sure) };
}

export function union(sets: readonly (ConditionSet | undefined)[]): ConditionSet | undefined {
  return unionOf(sets, (one) => one);
}

/** The union. PERF: a search may ask for a thousand codes, and a set of resources is 100 kB. */
function unionOf<One>(all: readonly One[], find: (one: One) => ConditionSet | undefined): ConditionSet | undefined {
  let set: KeySet | undefined;
  let sure: KeySet | undefined;
  let isExact = true;
  for (const one of all) {
    const found = find(one);
    if (found === undefined) return undefined;
    const surely = sureOf(found);
    set = set?.unite(found.set) ?? found.set.copy();
    if (surely !== undefined) sure = sure?.unite(surely) ?? surely.copy();
    isExact &&= found.exact;
  }
  return set && (isExact ? { set, exact: true } : { set, exact: false, sure });
}

/** The resources that are known to meet a condition; undefined if none are. */
export function sureOf({ set, exact, sure }: ConditionSet): KeySet | undefined {
  return exact ? set : sure;
}

function common([first, ...others]: readonly KeySet[]): KeySet {
  const set = first!.copy();
  for (const one of others) set.intersect(one);
  return set;
}
