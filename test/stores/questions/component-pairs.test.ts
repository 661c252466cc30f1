import { describe } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import type { CompositeCriteria, Criteria, Prefix, SearchQuery, ValueTest } from '../../../src/store.js';
import { below, oneOf, queryOf, resourceOf } from '../../support/kit.js';
import { by, match } from '../queries.js';
import { someOf } from '../../support/chance.js';
import { answerEverywhere, askEverywhere } from './ask-everywhere.js';

// Blood pressures, whose code and value are in one of several components.

const LOINC = 'http://loinc.org';
const UCUM = 'http://unitsofmeasure.org';

interface Unit {
  readonly unit?: string;
  readonly system?: string;
  readonly code?: string;
  readonly comparator?: string;
}

const PRESSURE: Unit = { unit: 'mmHg', system: UCUM, code: 'mm[Hg]' };

function component(code: string, value: number, unit = PRESSURE, system: string | undefined = LOINC): object {
  return { code: { coding: [{ system, code }] }, valueQuantity: { value, ...unit } };
}

/** A component with a concept as its value. */
function answer(code: string, value: readonly (readonly [system: string, code: string])[]): object {
  const coding = value.map(([system, one]) => ({ system, code: one }));
  return { code: { coding: [{ system: LOINC, code }] }, valueCodeableConcept: { coding } };
}

function panel(id: string, components: readonly object[], root: object = { code: { text: 'panel' } }): AnyResource {
  return { resourceType: 'Observation', id, status: 'final', ...root, component: components } as AnyResource;
}

/** Four hundred panels: 72 systolic values are above 140, and as many diastolic ones. */
function panels(): readonly AnyResource[] {
  return Array.from({ length: 400 }, (_, index) =>
    panel(`o${index}`, [component('sys', 100 + (index % 50)), component('dia', 149 - (index % 50))]),
  );
}

interface Asked {
  readonly prefix?: Prefix;
  readonly system?: string;
  readonly unit?: { readonly system?: string; readonly code?: string };
}

function systolic(
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
const KINDS: readonly (readonly [name: string, make: (value: number, random: Random) => object])[] = [
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
function randomPanels(
  make: (value: number, random: Random) => object,
  random: Random,
  count: number,
): readonly AnyResource[] {
  const systems = random() < 0.6 ? [LOINC] : [LOINC, 'urn:own'];
  const one = (): readonly [string, string] => [oneOf(systems, random), oneOf(['p', 'p', 'p', 'q', 'r', 's'], random)];
  const any = (): object =>
    random() < 0.25 ? answer(oneOf(['sys', 'sys', 'dia'], random), [one(), one()].slice(below(2, random))) : measured();
  const measured = (): object =>
    random() < 0.6 ? make(below(30, random), random) : component(oneOf(['dia', 'puls'], random), below(30, random));
  return Array.from({ length: count }, (_, index) =>
    panel(`o${index}`, Array.from({ length: below(4, random) }, any), random() < 0.3 ? any() : undefined),
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

function randomGroupCriteria(random: Random): Criteria {
  const system = oneOf<Asked>([{}, {}, { system: LOINC }, { system: 'urn:none' }], random);
  const asked: Asked = { prefix: oneOf(PREFIXES, random), ...system, ...oneOf(UNITS, random) };
  const parameter = `${oneOf(['component', 'combo'], random)}-code-value-quantity`;
  const one: Criteria =
    random() < 0.3 ? randomAnswer(asked.system, random) : systolic(below(32, random) - 1, asked, parameter);
  const other: Criteria = { kind: 'and', of: [one, match('component-code', 'dia')] };
  return oneOf<Criteria>([one, one, { kind: 'not', of: one }, other], random);
}

describe.each(someOf(KINDS, 2))('pairs of a code and a value in components %s', (_, make) => {
  askEverywhere({
    make: (count, random) => randomPanels(make, random, count),
    count: 200,
    ask: (random) =>
      queryOf('Observation', randomGroupCriteria(random), {
        limit: oneOf([0, 10], random),
        total: true,
        sort: [by('_id', random() < 0.5)],
      }),
  });
});

/** A composite of a code and a quantity above a number. */
function valued(parameter: string, code: string, value: number): CompositeCriteria {
  const quantity = { kind: 'quantity', prefix: 'gt', low: value, high: value } as const;
  return { kind: 'composite', parameter, tests: [{ kind: 'token', code }, quantity] };
}

/** A composite of two codes. */
function both(first: string, second: string, parameter: string): CompositeCriteria {
  const tests = [first, second].map((code) => ({ kind: 'token', code }) as const);
  return { kind: 'composite', parameter, tests };
}

const coded = (...codes: readonly string[]): object => ({ coding: codes.map((code) => ({ code })) });

/** Observations with values of any type, of their own and in components. */
function mixedObservations(count: number, random: Random): readonly AnyResource[] {
  const any = (): object => {
    const code = coded(oneOf(['a', 'a', 'b', 'c'], random));
    const quantity = { value: below(20, random), unit: 'mg' };
    const kind = random();
    if (kind < 0.2) return { code };
    if (kind < 0.4) return { code, valueCodeableConcept: { ...coded('p', oneOf(['p', 'q'], random)), text: 'pain' } };
    if (kind < 0.5) return { code, valueString: oneOf(['pain', 'fever'], random) };
    return kind < 0.65 ? { code, valueSampledData: { origin: quantity } } : { code, valueQuantity: quantity };
  };
  return Array.from({ length: count }, (_, index) =>
    panel(`o${index}`, Array.from({ length: below(4, random) }, any), any()),
  );
}

function randomComposite(random: Random): CompositeCriteria {
  const [code, kind] = [oneOf(['a', 'b', 'x'], random), random()];
  const named = oneOf(['combo-code-value', 'component-code-value', 'code-value'], random);
  if (kind < 0.6) return valued(`${named}-quantity`, code, below(20, random));
  if (kind < 0.8) return both(code, oneOf(['p', 'q', 'x'], random), `${named}-concept`);
  const text: ValueTest = { kind: 'string', comparator: 'starts-with', text: oneOf(['pain', 'fev'], random) };
  return { kind: 'composite', parameter: 'code-value-string', tests: [{ kind: 'token', code }, text] };
}

describe('composites of values of any type', () => {
  askEverywhere({
    make: mixedObservations,
    count: 200,
    ask: (random) => {
      const one = randomComposite(random);
      const not: Criteria = { kind: 'not', of: one };
      const other: Criteria = { kind: 'and', of: [one, match('code', 'a')] };
      const criteria = oneOf<Criteria>([one, one, not, other, { kind: 'or', of: [match('code', 'b'), not] }], random);
      const sort = random() < 0.5 ? undefined : [by('value-quantity', random() < 0.5)];
      return queryOf('Observation', criteria, { sort, limit: oneOf([0, 10], random), total: true });
    },
  });
});

const count = (criteria: Criteria): SearchQuery => queryOf('Observation', criteria, { limit: 0, total: true });

answerEverywhere('blood pressures', panels(), [
  [count(systolic(140)), { total: 72 }],
  [count(systolic(140, { system: LOINC, unit: { system: UCUM, code: 'mm[Hg]' } })), { total: 72 }],
  [count(systolic(100, { prefix: 'le', unit: { code: 'mmHg' } })), { total: 8 }],
]);

const ANSWERS = { yes: 100, no: 300, never: 0 } as const;
answerEverywhere(
  'answers to questions',
  Array.from({ length: 400 }, (_, index) =>
    panel(`o${index}`, [
      answer('first', [[LOINC, index % 4 === 0 ? 'yes' : 'no']]),
      answer('second', [[LOINC, index % 4 === 1 ? 'yes' : 'no']]),
    ]),
  ),
  (Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]).map((code) => {
    const tests = [{ kind: 'token', code: 'first' } as const, { kind: 'token', code, system: LOINC } as const];
    return [count({ kind: 'composite', parameter: 'component-code-value-concept', tests }), { total: ANSWERS[code] }];
  }),
);

answerEverywhere(
  'a later value of another system and unit',
  Array.from({ length: 100 }, (_, index) => panel(`o${index}`, [component('sys', index)])),
  [
    [count(systolic(98)), { total: 2 }],
    [count(systolic(98, { system: LOINC })), { total: 1 }],
    [count(systolic(98, { unit: { code: 'mm Hg' } })), { total: 1 }],
  ],
  [panel('o100', [component('sys', 200, { ...PRESSURE, unit: 'mm Hg' }, 'urn:own')])],
);

answerEverywhere(
  'later values without an upper end',
  panels(),
  [[count(systolic(148)), { total: 8 + 110 }]],
  Array.from({ length: 110 }, (_, index) =>
    panel(`more${index}`, [component('sys', 50, { ...PRESSURE, comparator: '>' })]),
  ),
);

answerEverywhere(
  'a code in one place with the value in another',
  Array.from({ length: 400 }, (_, index) =>
    panel(`o${String(index).padStart(3, '0')}`, [component('b', 9)], component('a', index < 390 ? 1 : 9)),
  ),
  [
    [
      queryOf('Observation', valued('combo-code-value-quantity', 'a', 5), { limit: 5 }),
      { ids: ['o390', 'o391', 'o392', 'o393', 'o394'] },
    ],
  ],
);

answerEverywhere(
  'a combination with the negation of a composite',
  Array.from({ length: 400 }, (_, index) => {
    const code = index % 2 === 0 ? 'a' : 'b';
    return panel(`o${index}`, [component(code, index < 390 ? 1 : 9)], { code: coded(code) });
  }),
  [
    [
      count({
        kind: 'or',
        of: [match('code', 'b'), { kind: 'not', of: valued('component-code-value-quantity', 'a', 5) }],
      }),
      { total: 395 },
    ],
  ],
);

answerEverywhere(
  'composites of the resource itself, with values of several types',
  Array.from({ length: 400 }, (_, index) =>
    resourceOf('Observation', `o${index}`, {
      code: coded(index % 2 === 0 ? 'a' : 'b'),
      ...[
        { valueCodeableConcept: coded(index % 10 === 0 ? 'p' : 'q') },
        { valueSampledData: { origin: { value: index } } },
        { valueQuantity: { value: index } },
      ][index % 3],
    }),
  ),
  [
    [count(both('a', 'p', 'code-value-concept')), { total: 14 }],
    [count(valued('code-value-quantity', 'a', 299)), { total: 17 }],
    [count(valued('combo-code-value-quantity', 'a', 299)), { total: 17 }],
  ],
);
