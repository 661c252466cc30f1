import type { Criteria } from '../../../search/criteria/criteria.js';
import type { KeySet } from './key-set.js';

/** The resources that can meet a condition, except those that are pending. */
export interface ConditionSet {
  readonly set: KeySet;
  /** All of them do. */
  readonly exact: boolean;
}

/** What a store knows of the resources of a type. */
export interface KnownSets {
  readonly all: KeySet;
  emptySet(): KeySet;
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
      return union(criteria.of.map((one) => setOfCriteria(one, known)));
    case 'not': {
      const inner = setOfCriteria(criteria.of, known);
      return inner?.exact === true ? { set: known.all.copy().subtract(inner.set), exact: true } : undefined;
    }
    default:
      return known.setOf(criteria);
  }
}

/** The resources that may meet all; exact if that is known of each. */
export function intersection(sets: readonly (ConditionSet | undefined)[]): ConditionSet | undefined {
  const known = sets.filter((one) => one !== undefined);
  if (known.length === 0) return undefined;
  const exact = known.length === sets.length && known.every((one) => one.exact);
  const set = known[0]!.set.copy();
  for (const one of known.slice(1)) set.intersect(one.set);
  return { set, exact };
}

export function union(sets: readonly (ConditionSet | undefined)[]): ConditionSet | undefined {
  if (sets.length === 0 || !sets.every((one) => one !== undefined)) return undefined;
  const set = sets[0]!.set.copy();
  for (const one of sets.slice(1)) set.unite(one.set);
  return { set, exact: sets.every((one) => one.exact) };
}
