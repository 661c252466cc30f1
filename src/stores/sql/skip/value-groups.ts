import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { perModel } from '../../../fhir/model/per-model.js';
import { getOrCreate } from '../../../platform/maps.js';
import type { CompositeCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import type { QuantityTest, TokenTest } from '../../../search/criteria/value-test.js';
import { tablesOf } from '../index-tables.js';
import { partWith, rangeOf } from '../pages/value-range.js';
import type { RowScope } from '../rows.js';
import type { SqlValue } from '../sql.js';
import { granulesInRange } from './range-granules.js';
import { asksForUnit } from './range-tests.js';
import { askedUnit, inAnyUnit, namesOfUnit, type StoredUnit } from './unit-sets.js';

/**
 * The groups of a composite that have a frequent code in its first component, in the order of the values of its second.
 *
 * A blood pressure has two components. The resources with the systolic code and those with a value above 140 are nearly
 * the same resources, and do not tell whether the systolic value is above 140. The order of the groups does.
 */
export interface ValueGroups {
  readonly code: string;
  /** The system that the code has in every group; undefined if groups differ. */
  readonly system?: string | number;
  /** The names of the units that the values of all groups have: see unit-sets.ts. Of codes, the system. */
  readonly units: readonly string[];
}

/** What a composite asks of groups. */
export interface AskedGroups {
  readonly code: string;
  /** The component of the values, as in an index entry. */
  readonly parameter: string;
  /** The granules of an order of all values, whatever their units and systems. */
  granulesIn(order: Granules): AskedGranules;
}

interface Granules {
  readonly starts: readonly SqlValue[];
  readonly ties: readonly number[];
}

/** Granules in ascending order. */
export interface AskedGranules {
  /** Those in which every value passes. */
  readonly sure: readonly number[];
  /** The others in which some values may pass. */
  readonly open: readonly number[];
}

/** The groups that a composite asks for; undefined if no range of an order has them. */
export function askedGroups({ parameter: composite, tests }: CompositeCriteria): AskedGroups | undefined {
  const [code, value, ...others] = tests;
  if (others.length > 0 || code?.kind !== 'token' || value === undefined || !isOfCode(code)) return undefined;
  const parameter = `${composite}$1`;
  if (value.kind === 'token') {
    return isOfCode(value)
      ? { code: code.code, parameter, granulesIn: (order) => granulesOf(value.code, order) }
      : undefined;
  }
  if (value.kind !== 'quantity') return undefined;
  const inRange: MatchCriteria = { kind: 'match', parameter, test: inAnyUnit(value) };
  const range = rangeOf(inRange, parameter);
  const granulesIn = (order: Granules): AskedGranules => {
    const { all, short, some } = granulesInRange(inRange, order, range!, false);
    // All values are points.
    return { sure: [...all, ...short].sort((a, b) => a - b), open: some };
  };
  return range && { code: code.code, parameter, granulesIn };
}

/** The granule of a code, which other codes may share. */
function granulesOf(code: string, { starts, ties }: Granules): AskedGranules {
  const granule = partWith(starts, code);
  if (!ties.includes(granule)) return { sure: [], open: [granule] };
  return { sure: starts[granule] === code ? [granule] : [], open: [] };
}

/** Whether all groups have the systems of the codes and the unit of the value that a composite asks for. */
export function areAllOf({ system, units }: ValueGroups, { tests }: CompositeCriteria, scope: RowScope): boolean {
  const [code, value] = tests as readonly [TokenTest, QuantityTest | TokenTest];
  const systemOf = (test: TokenTest): string | undefined =>
    test.system === undefined ? undefined : String(scope.dialect.system(scope.project, test.system));
  const asked = value.kind === 'token' ? systemOf(value) : askedUnit(value, scope);
  const isOfUnit = asked === undefined ? value.kind === 'token' || !asksForUnit(value) : units.includes(asked);
  return isOfUnit && (code.system === undefined || (system !== undefined && systemOf(code) === String(system)));
}

/** Whether a test compares the code and maybe its system. */
function isOfCode(test: TokenTest): test is TokenTest & { readonly code: string } {
  const { code, noSystem, negated, below, except = [], folded } = test;
  const isPlain = noSystem !== true && negated !== true && below !== true && folded === undefined;
  return isPlain && code !== undefined && except.length === 0;
}

/** A composite of a code with a quantity or another code. It has values in several groups of a resource. */
export interface GroupedComposite {
  /** The component of the code, as in an index entry: `component-code-value-quantity$0`. */
  readonly code: string;
  /** The component of the value. */
  readonly value: string;
  readonly table: 'quantity' | 'token';
}

/** The composites of a type whose groups a skip index keeps. Composites of the resource itself have one group. */
export function groupedComposites(model: FhirModel, type: string): readonly GroupedComposite[] {
  return getOrCreate(KNOWN(model), type, () =>
    [...model.searchParameters(type).values()].flatMap(({ code, path = [], components = [] }): GroupedComposite[] => {
      const isOfGroups = path.some((root) => root.length > 0);
      const [first, table, ...others] = components.map((_, place) => tablesOf(model, type, `${code}$${place}`)[0]);
      if (!isOfGroups || first !== 'token' || others.length > 0) return [];
      return table === 'quantity' || table === 'token' ? [{ code: `${code}$0`, value: `${code}$1`, table }] : [];
    }),
  );
}

const KNOWN = perModel(() => new Map<string, readonly GroupedComposite[]>());

/** What distinguishes some groups: the system of the code, and the unit of the value. Of a code, its system alone. */
export type GroupKind = readonly [system: string | number, ...unit: StoredUnit];

function namesOf(table: GroupedComposite['table'], [, ...unit]: GroupKind): readonly string[] {
  return table === 'token' ? [String(unit[0])] : namesOfUnit(unit);
}

/** A code with more kinds of groups has no order of them: they have no unit in common, mostly. */
export const MAX_KINDS = 1_024;

/** A code whose groups have a longer code as their value has no order of them, in characters. */
export const MAX_CODE = 256;

/** The facts that hold for all kinds of groups. @param before facts of other groups, if there are any */
export function factsOf(
  code: string,
  table: GroupedComposite['table'],
  kinds: readonly GroupKind[],
  before: ValueGroups | undefined,
): ValueGroups {
  const systems = new Set(kinds.map(([system]) => system));
  const [first, ...others] = kinds.map((kind) => namesOf(table, kind));
  if (before !== undefined) {
    const isSame = [...systems].every((system) => system === before.system);
    const units = before.units.filter((name) => kinds.every((kind) => namesOf(table, kind).includes(name)));
    return { code, ...(isSame && before.system !== undefined && { system: before.system }), units };
  }
  const [system] = systems;
  const units = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
  return { code, ...(systems.size === 1 && { system: system! }), units };
}
