import type { ValueTest } from '../../../search/criteria/value-test.js';
import { type ConditionSet, sureOf } from './condition-set.js';
import type { KeySet } from './key-set.js';

/** The opposite of a test that some value differs. */
export interface EqualTest {
  readonly test: ValueTest;
  /**
   * True if a resource with a single value (see extremes.ts) passes at most one of the two tests. Values with one code can
   * have different systems, so it is false for some codes.
   */
  readonly isWhole: boolean;
}

/** The test that only the values excluded by a `ne` test pass. Undefined for other tests and for values with a unit. */
export function equalTestOf(test: ValueTest): EqualTest | undefined {
  switch (test.kind) {
    case 'token':
    case 'reference': {
      const { negated, ...equal } = test;
      if (negated !== true) return undefined;
      return { test: equal, isWhole: equal.kind === 'reference' || (equal.system === undefined && !equal.noSystem) };
    }
    case 'string':
      return test.comparator === 'not-equals' ? whole({ ...test, comparator: 'equals' }) : undefined;
    case 'uri':
      if (test.comparator === 'not-canonical') return whole({ ...test, comparator: 'canonical' });
      return test.comparator === 'not-equals' ? whole({ ...test, comparator: 'equals' }) : undefined;
    case 'quantity':
      if (test.system !== undefined || test.code !== undefined) return undefined;
      return test.prefix === 'ne' ? whole({ ...test, prefix: 'eq' }) : undefined;
    case 'date':
    case 'number':
      return test.prefix === 'ne' ? whole({ ...test, prefix: 'eq' }) : undefined;
    default:
      return undefined;
  }
}

function whole(test: ValueTest): EqualTest {
  return { test, isWhole: true };
}

/**
 * The resources with a value other than the excluded ones: all with a value, minus those that have no other value.
 *
 * @param several the resources with several values; undefined if any resource may have several
 */
export function setOfOthers(present: KeySet, equal: ConditionSet, several: KeySet | undefined): ConditionSet {
  const sure = present.copy().subtract(equal.set);
  const surelyEqual = sureOf(equal);
  if (several === undefined || surelyEqual === undefined) return { set: present.copy(), exact: false, sure };
  const failing = surelyEqual.copy().subtract(several);
  const exact = equal.exact && several.count === 0;
  return exact ? { set: sure, exact } : { set: present.copy().subtract(failing), exact, sure };
}

/**
 * The resources with a value other than an excluded code or system: all with a value, minus those that have no other value.
 *
 * @param equal the resources with the excluded value
 * @param several the resources with several codes; undefined if a system is excluded
 * @param inOtherSystems the resources with the excluded code in each other system, or with a value of each other system
 */
export function setOfOtherTokens(
  present: KeySet,
  equal: KeySet,
  several: KeySet | undefined,
  inOtherSystems: readonly KeySet[],
): ConditionSet {
  const only = equal.copy();
  if (several !== undefined) only.subtract(several);
  for (const set of inOtherSystems) only.subtract(set);
  return { set: present.copy().subtract(only), exact: true };
}
