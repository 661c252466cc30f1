import type { QuantityTest } from '../../../search/criteria/value-test.js';
import type { RowScope } from '../rows.js';
import { type ConditionSet, intersection, sureOf } from './condition-set.js';
import type { KeySet } from './key-set.js';

/**
 * The sets of a parameter of quantities: the resources with a value in a unit, and those with values in several units.
 *
 * Few resources may have a unit that is rare among many values. No index by value finds them.
 */

/** Names the set of the resources that have values in several units. Names of units contain a `|`. */
export const SEVERAL_UNITS = '';

/** The most units of a parameter that are kept, most frequent first. */
const MAX_UNITS = 128;

/** The unit of a value as it is stored. */
export type StoredUnit = readonly [system: string | number | null, code: string | null, unit: string | null];

/** The names of the sets that a resource with such a value is in. A search without a system also compares the human unit. */
export function namesOfUnit([system, code, unit]: StoredUnit): readonly string[] {
  if (system === null) return [];
  const names = code === null ? [] : [`${system}|${code}`, `|${code}`];
  return unit === null || unit === code ? names : [...names, `|${unit}`];
}

/** The names of the sets to keep. @param found resources by name */
export function keptUnits(found: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const frequent = [...found]
    .filter(([name]) => name !== SEVERAL_UNITS)
    .sort(([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? -1 : 1));
  const kept = frequent.slice(0, MAX_UNITS).map(([name]) => name);
  return found.has(SEVERAL_UNITS) ? [SEVERAL_UNITS, ...kept] : kept;
}

/** The name of the set of a searched unit; undefined for tests without a unit, and of an unknown system. */
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
 * @param inAny those with a value in the range, of any unit; undefined if that is not known
 * @param several those with values in several units
 */
export function setInUnit(inAny: ConditionSet | undefined, ofUnit: ConditionSet, several: KeySet): ConditionSet {
  if (inAny === undefined) return { set: ofUnit.set, exact: false };
  const found = intersection([inAny, ofUnit])!;
  const sure = sureOf(found)?.copy().subtract(several);
  return found.exact && sure!.count === found.set.count ? found : { set: found.set, exact: false, sure };
}
