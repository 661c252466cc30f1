import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { perModel } from '../../../fhir/model/per-model.js';
import { getOrCreate } from '../../../platform/maps.js';
import { tablesOf } from '../index-tables.js';
import { namesOfUnit, type StoredUnit } from './unit-sets.js';

/**
 * The groups of a composite that have a frequent code in its first component, in the order of the values of its second.
 *
 * A blood pressure has two components. The resources with the systolic code and those with a value above 140 are nearly
 * the same resources, and do not tell whether the systolic value is above 140. The order of the groups does.
 */
export interface ValueGroups {
  readonly code: string;
  /** The system that the code has in every group; undefined if groups differ. */
  readonly system?: number;
  /** The names of the units that the values of all groups have: see unit-sets.ts. */
  readonly units: readonly string[];
}

/** A composite of a code and a quantity whose values are in several groups. */
export interface GroupedComposite {
  /** The component of the code, as in an index entry: `component-code-value-quantity$0`. */
  readonly code: string;
  /** The component of the quantity. */
  readonly value: string;
}

/** The composites of a type whose groups a skip index keeps. Composites of the resource itself have one group. */
export function groupedComposites(model: FhirModel, type: string): readonly GroupedComposite[] {
  return getOrCreate(KNOWN(model), type, () =>
    [...model.searchParameters(type).values()].flatMap(({ code, path = [], components = [] }): GroupedComposite[] => {
      const isOfGroups = path.some((root) => root.length > 0);
      const tables = components.map((_, place) => tablesOf(model, type, `${code}$${place}`)[0]);
      if (!isOfGroups || tables.length !== 2 || tables[0] !== 'token' || tables[1] !== 'quantity') return [];
      return [{ code: `${code}$0`, value: `${code}$1` }];
    }),
  );
}

const KNOWN = perModel(() => new Map<string, readonly GroupedComposite[]>());

/** What distinguishes some groups: the system of the code, and the unit of the value. */
export type GroupKind = readonly [system: number, ...unit: StoredUnit];

/** The facts that hold for all kinds of groups. @param before facts of other groups, if there are any */
export function factsOf(code: string, kinds: readonly GroupKind[], before: ValueGroups | undefined): ValueGroups {
  const systems = new Set(kinds.map(([system]) => system));
  const [first, ...others] = kinds.map(([, ...unit]) => namesOfUnit(unit));
  if (before !== undefined) {
    const isSame = [...systems].every((system) => system === before.system);
    const units = before.units.filter((name) => kinds.every(([, ...unit]) => namesOfUnit(unit).includes(name)));
    return { code, ...(isSame && before.system !== undefined && { system: before.system }), units };
  }
  const [system] = systems;
  const units = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
  return { code, ...(systems.size === 1 && { system: system! }), units };
}
