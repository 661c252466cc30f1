import type { QuantityTest } from '../../../search/criteria/value-test.js';
import type { RowScope } from '../rows.js';
import { type ConditionSet, intersection, sureOf } from './condition-set.js';
import type { KeySet } from './key-set.js';

/**
 * The sets of a parameter of quantities: the resources with a value in a unit, and those with values in several units.
 *
 * A unit may be rare among the many values of a range, and no index by value finds the few resources that have it.
 */

/** Names the set of the resources that have values in several units. Names of units contain a `|`. */
export const SEVERAL_UNITS = '';

/** Names the set of the resources with a unit that has no set of its own. */
export const OTHER_UNITS = '|';

/** The maximum number of units per parameter that have a set: the most frequent ones. */
const MAX_UNITS = 128;

/** The unit of a value as it is stored. */
export type StoredUnit = readonly [system: string | number | null, code: string | null, unit: string | null];

/** The names of the sets of a resource with such a unit. A search without a system also compares the human unit. */
export function namesOfUnit([system, code, unit]: StoredUnit): readonly string[] {
  if (system === null) return [];
  const names = code === null ? [] : [`${system}|${code}`, `|${code}`];
  return unit === null || unit === code ? names : [...names, `|${unit}`];
}

/** The units that have sets. @param found resources by the names of their units */
export function keptUnits(found: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const frequent = [...found].sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? -1 : 1));
  return frequent.slice(0, MAX_UNITS).map(([name]) => name);
}

/**
 * Puts the resources with units that have no set under {@link OTHER_UNITS}: a unit without a set can only be in these
 * resources.
 */
export function withOtherUnits(
  found: Map<string, readonly number[]>,
  kept: Iterable<string>,
  several: readonly number[],
): ReadonlyMap<string, readonly number[]> {
  if (found.size === 0) return found;
  const names = new Set(kept);
  const others: number[] = [];
  for (const [name, own] of found) {
    if (names.has(name)) continue;
    for (const resource of own) others.push(resource);
    found.delete(name);
  }
  return found.set(SEVERAL_UNITS, several).set(OTHER_UNITS, others);
}

/** The resources that can have a value in a unit. @param own undefined if the unit has no set */
export function setOfUnit(own: KeySet | undefined, others: KeySet): ConditionSet {
  return { set: own ?? others, exact: own !== undefined || others.count === 0 };
}

/** The name of the set of a searched unit; undefined for tests without a unit or with an unknown system. */
export function askedUnit({ system, code }: QuantityTest, { dialect, project }: RowScope): string | undefined {
  if (code === undefined) return undefined;
  const key = system === undefined ? '' : dialect.system(project, system);
  return key === undefined ? undefined : `${String(key)}|${String(dialect.unit(code))}`;
}

/** The same test in any unit. */
export function inAnyUnit({ prefix, low, high }: QuantityTest): QuantityTest {
  return { kind: 'quantity', prefix, low, high };
}

/**
 * The resources with a value in a range and a unit: exact for resources whose values have one unit.
 *
 * @param inAny the resources with a value in the range, of any unit; undefined if that is not known
 * @param several the resources with values in several units
 */
export function setInUnit(inAny: ConditionSet | undefined, ofUnit: ConditionSet, several: KeySet): ConditionSet {
  if (inAny === undefined) return { set: ofUnit.set, exact: false };
  const found = intersection([inAny, ofUnit])!;
  const sure = sureOf(found)?.copy().subtract(several);
  return found.exact && sure!.count === found.set.count ? found : { set: found.set, exact: false, sure };
}
