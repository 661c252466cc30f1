import type { AnyResource } from '../../src/fhir/resource.js';
import type { CompositeCriteria, Criteria } from '../../src/search/criteria/criteria.js';
import type { Prefix } from '../../src/search/criteria/value-test.js';
import { below, oneOf } from '../../src/testing/random.js';
import { match } from './skip-cases.js';

// Blood pressures, whose code and value are in one of several components.

export const LOINC = 'http://loinc.org';
export const UCUM = 'http://unitsofmeasure.org';

export interface Unit {
  readonly unit?: string;
  readonly system?: string;
  readonly code?: string;
  readonly comparator?: string;
}

export const PRESSURE: Unit = { unit: 'mmHg', system: UCUM, code: 'mm[Hg]' };

export function component(code: string, value: number, unit = PRESSURE, system: string | undefined = LOINC): object {
  return { code: { coding: [{ system, code }] }, valueQuantity: { value, ...unit } };
}

/** A component with a concept as its value. */
export function answer(code: string, value: readonly (readonly [system: string, code: string])[]): object {
  const coding = value.map(([system, one]) => ({ system, code: one }));
  return { code: { coding: [{ system: LOINC, code }] }, valueCodeableConcept: { coding } };
}

export function panel(
  id: string,
  components: readonly object[],
  root: object = { code: { text: 'panel' } },
): AnyResource {
  return { resourceType: 'Observation', id, status: 'final', ...root, component: components } as AnyResource;
}

/** Four hundred panels: 72 systolic values are above 140, and as many diastolic ones. */
export function panels(): readonly AnyResource[] {
  return Array.from({ length: 400 }, (_, index) =>
    panel(`o${index}`, [component('sys', 100 + (index % 50)), component('dia', 149 - (index % 50))]),
  );
}

export interface Asked {
  readonly prefix?: Prefix;
  readonly system?: string;
  readonly unit?: { readonly system?: string; readonly code?: string };
}

export function systolic(
  value: number,
  { prefix = 'gt', system, unit = {} }: Asked = {},
  parameter = 'component-code-value-quantity',
): CompositeCriteria {
  const [low, high] = prefix === 'eq' || prefix === 'ne' ? [value - 0.5, value + 0.5] : [value, value];
  const tests = [
    { kind: 'token', code: 'sys', system },
    { kind: 'quantity', prefix, low, high, ...unit },
  ] as const;
  return { kind: 'composite', parameter, tests };
}

type Random = () => number;

/** Kinds of systolic components. */
export const KINDS: readonly (readonly [name: string, make: (value: number, random: Random) => object])[] = [
  ['of one system and unit', (value) => component('sys', value)],
  [
    'of several units',
    (value, random) => component('sys', value, oneOf([PRESSURE, { ...PRESSURE, unit: 'mm Hg' }], random)),
  ],
  [
    'of several systems and units',
    (value, random) =>
      component('sys', value, oneOf([PRESSURE, {}, { unit: 'kPa' }], random), oneOf([LOINC, LOINC, 'urn:own'], random)),
  ],
  [
    'with intervals',
    (value, random) => component('sys', value, oneOf([PRESSURE, PRESSURE, { comparator: '>' }], random)),
  ],
];

/** Panels of up to three components, some with a value of their own. */
export function randomPanels(
  make: (value: number, random: Random) => object,
  random: Random,
  from: number,
  count: number,
): readonly AnyResource[] {
  const systems = random() < 0.6 ? [LOINC] : [LOINC, 'urn:own'];
  const one = (): readonly [string, string] => [oneOf(systems, random), oneOf(['p', 'p', 'p', 'q', 'r', 's'], random)];
  const any = (): object =>
    random() < 0.25 ? answer(oneOf(['sys', 'sys', 'dia'], random), [one(), one()].slice(below(2, random))) : measured();
  const measured = (): object =>
    random() < 0.6 ? make(below(30, random), random) : component(oneOf(['dia', 'puls'], random), below(30, random));
  return Array.from({ length: count }, (_, index) =>
    panel(`o${from + index}`, Array.from({ length: below(4, random) }, any), random() < 0.3 ? any() : undefined),
  );
}

const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'sa', 'eb', 'ap'];
const UNITS: readonly Asked[] = [
  ...[{}, { unit: { code: 'mmHg' } }, { unit: { code: 'kPa' } }],
  { unit: { system: UCUM, code: 'mm[Hg]' } },
];

function randomAnswer(system: string | undefined, random: Random): CompositeCriteria {
  const parameter = `${oneOf(['component', 'combo'], random)}-code-value-concept`;
  const value = {
    code: oneOf(['p', 'q', 'r', 's', 'x'], random),
    system: oneOf([undefined, LOINC, 'urn:own'], random),
  };
  const tests = [
    { kind: 'token', code: 'sys', system },
    { kind: 'token', ...value },
  ] as const;
  return { kind: 'composite', parameter, tests };
}

export function randomGroupCriteria(random: Random): Criteria {
  const system = oneOf<Asked>([{}, {}, { system: LOINC }, { system: 'urn:none' }], random);
  const asked: Asked = { prefix: oneOf(PREFIXES, random), ...system, ...oneOf(UNITS, random) };
  const parameter = `${oneOf(['component', 'combo'], random)}-code-value-quantity`;
  const one: Criteria =
    random() < 0.3 ? randomAnswer(asked.system, random) : systolic(below(32, random) - 1, asked, parameter);
  const other: Criteria = { kind: 'and', of: [one, match('component-code', 'dia')] };
  return oneOf<Criteria>([one, one, { kind: 'not', of: one }, other], random);
}
