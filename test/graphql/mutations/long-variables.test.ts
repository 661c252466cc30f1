import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PARTS } from '../../../src/fhir/json/parts.js';
import { R4 } from '../../../src/fhir/r4.js';
import { validateResource } from '../../../src/fhir/validate-resource.js';
import { readInput } from '../../../src/graphql/execute/read-input.js';
import { RequestPace } from '../../../src/graphql/execute/deadline.js';
import { assertResource } from '../../../src/interactions/assert-resource.js';
import { PACE } from '../../../src/platform/loop-turn.js';
import { Pace, inOneGo } from '../../../src/platform/pace.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { cases } from '../../support/chance.js';
import { countTurns } from '../../support/count-turns.js';
import { openClinic, type Clinic } from './harness.js';

const DEFAULTS = { ...PARTS };
const { turnMs } = PACE;
let clinic: Clinic;

beforeEach(async () => {
  clinic = await openClinic(new MemoryStore());
});

afterEach(() => {
  Object.assign(PARTS, DEFAULTS);
  PACE.turnMs = turnMs;
  vi.restoreAllMocks();
});

const COMPONENT = fc.oneof(
  { weight: 9, arbitrary: fc.record({ code: fc.record({ text: fc.string() }), valueInteger: fc.nat() }) },
  fc.constantFrom(null, 'a text', { colour: 'red' }, { valueInteger: 1.5 }, [{}], { code: null }),
);
const OBSERVATION = fc.record(
  {
    status: fc.constantFrom('final', 'amended', null, 3),
    code: fc.oneof(fc.record({ coding: fc.array(fc.record({ code: fc.string() })) }), fc.constant([])),
    component: fc.oneof({ weight: 9, arbitrary: fc.array(COMPONENT) }, COMPONENT),
    contained: fc.array(fc.record({ resourceType: fc.constant('Basic'), id: fc.string() })),
  },
  { requiredKeys: [] },
);

test('input that is read in parts gives the same values and the same errors', () => {
  const place = { type: 'ObservationInput', array: false };
  let faulty = 0;
  fc.assert(
    fc.property(OBSERVATION, fc.integer({ min: 1, max: 8 }), (value, size) => {
      Object.assign(PARTS, DEFAULTS);
      const whole = inOneGo(readInput(R4, place, value));
      Object.assign(PARTS, { long: 1, size });
      expect(inOneGo(readInput(R4, place, value))).toEqual(whole);
      faulty += whole.faults.length > 0 ? 1 : 0;
    }),
    { numRuns: cases(2_000, 300) },
  );
  expect(faulty).toBeGreaterThan(20);
});

const CREATE = 'mutation ($res: ObservationInput!) { ObservationCreate(res: $res) { id } }';
const observation = (components: readonly object[]): object => ({
  status: 'final',
  code: { text: 'panel' },
  component: components,
});
const manyComponents = Array.from({ length: 300 }, (_, n) => ({ code: { text: `c${n}` }, valueInteger: n }));

test('long variables are measured and read in turns with other work', async () => {
  Object.assign(PARTS, { long: 100, size: 10 });
  PACE.turnMs = 0;
  const next = vi.spyOn(Pace.prototype, 'next');
  const nextOfRequest = vi.spyOn(RequestPace.prototype, 'next');
  // The last component is refused, so that no later work runs.
  const res = observation([...manyComponents, { colour: 'red' }]);
  const { errors } = await clinic.ask(CREATE, { res });
  expect(errors).toMatchObject([{ message: expect.stringContaining('component[300]') as string }]);
  // 1,200 values are measured ten at a time, and each component is read by itself.
  expect(next.mock.calls.length).toBeGreaterThan(100);
  expect(nextOfRequest.mock.calls.length).toBeGreaterThanOrEqual(300);
});

test('a long argument of a mutation is read in turns with other work', async () => {
  Object.assign(PARTS, { long: 100, size: 10 });
  vi.spyOn(RequestPace.prototype, 'isSpent', 'get').mockReturnValue(true);
  const mutation = `mutation ($c: [ObservationComponentInput!]) {
    ObservationCreate(res: { status: "final", code: { text: "panel" }, component: $c }) { id }
  }`;
  const { result, turns } = await countTurns(() => clinic.ask(mutation, { c: manyComponents }));
  expect(result.errors).toBeUndefined();
  expect(turns).toBeGreaterThan(300);
});

test('the limits apply to variables that are measured in parts', async () => {
  Object.assign(PARTS, { long: 5, size: 5 });
  let deep: object = {};
  for (let level = 0; level < 200; level++) deep = { deep };
  const refused = async (variables: object, variablesSize = 10_000): Promise<string | undefined> => {
    const { errors } = await clinic.ask(
      '{ PatientList { id } }',
      { variables },
      {
        limits: { variablesSize },
      },
    );
    return errors?.[0]?.message;
  };
  expect(await refused({ many: Array<number>(50).fill(0), deep })).toContain('nest deeper than 100 levels');
  expect(await refused({ many: Array<number>(5_000).fill(0) })).toBeUndefined();
  expect(await refused({ many: Array<number>(10_000).fill(0) })).toContain('more than 10000 characters and values');
  expect(await refused({ many: Array<number>(50).fill(0), text: 'x'.repeat(10_000) })).toContain('more than 10000');
  expect(await refused({ many: Array<number>(50).fill(0), ['x'.repeat(10_000)]: 1 })).toContain('more than 10000');
});

test('a request has at most 10,000 variables, and an object of a resource at most as many names', async () => {
  const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`u${n}`, 1]));
  const ask = async (count: number): Promise<unknown> => {
    const { errors } = await clinic.ask('{ PatientList { id } }', { ...many(count) });
    return errors?.[0]?.extensions.details;
  };
  expect(await ask(10_000)).toBeUndefined();
  expect(await ask(10_001)).toMatchObject({ limit: 'variablesSize', max: 10_000 });
  const issues = (count: number): unknown =>
    validateResource(R4, { resourceType: 'Basic', extension: [many(count)] }).filter(
      ({ code }) => code === 'too-costly',
    );
  expect(issues(10_000)).toEqual([]);
  expect(issues(10_001)).toMatchObject([{ expression: ['Basic.extension[0]'] }]);
  // With its type it has one more.
  expect(() => assertResource(R4, { resourceType: 'Basic', ...many(9_999) })).not.toThrow();
  expect(() => assertResource(R4, { resourceType: 'Basic', ...many(10_000) })).toThrow('more than 10000 elements');
});

test('lists of scalars have 100,000 values in total at most', async () => {
  const query = 'query ($a: [String], $b: [String]) { PatientList(name: $a, address: $b) { id } }';
  const ask = async (a: number, b: number): Promise<unknown> => {
    const list = (count: number): string[] => Array<string>(count).fill('x');
    const { errors } = await clinic.ask(query, { a: list(a), b: list(b), notAsked: list(300_000) });
    return errors?.[0]?.extensions.details;
  };
  // A search takes fewer.
  expect(await ask(99_000, 1_000)).toMatchObject({ max: 1_000 });
  expect(await ask(99_000, 1_001)).toMatchObject({ limit: 'variablesSize', max: 100_000 });
});
