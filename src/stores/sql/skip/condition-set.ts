import type { Criteria } from '../../../search/criteria/criteria.js';
import type { Condition } from '../pages/condition.js';
import type { KeySet } from './key-set.js';

/** A condition that only resources of a set can meet, except those that are pending. */
export interface MemberCondition extends Condition {
  readonly members?: KeySet;
}

/** The resources that can meet a condition, except those that are pending. */
export interface ConditionSet {
  readonly set: KeySet;
  /** All of them do. */
  readonly exact: boolean;
  /** Some of them that are known to; if it is not exact. */
  readonly sure?: KeySet | undefined;
}

/** What a store knows of the resources of a type. */
export interface KnownSets {
  readonly all: KeySet;
  emptySet(): KeySet;
  /** Those that have a value of a parameter. Undefined where that is not known. */
  present(parameter: string): KeySet | undefined;
  /** The set of criteria without others in them; undefined where it takes too long to find. */
  setOf(criteria: Criteria): ConditionSet | undefined;
}

/** The set of criteria by those that they are made of. Undefined where it takes too long to find. */
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
      const sure = inner && sureOf(inner);
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

/** The resources that may meet all; exact if that is known of each. */
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

/** The union of what is found of each. PERF: a search may ask for a thousand codes, and a set of resources is 100 kB. */
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

/** Those that are known to meet it. Undefined where that is known of none. */
export function sureOf({ set, exact, sure }: ConditionSet): KeySet | undefined {
  return exact ? set : sure;
}

function common([first, ...others]: readonly KeySet[]): KeySet {
  const set = first!.copy();
  for (const one of others) set.intersect(one);
  return set;
}
