import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type RequestCost, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { cases } from '../support/chance.js';
import { failures, openClinic, type Clinic, type Sample, type Variables } from './harness.js';

const PATIENTS = 4;
const OBSERVATIONS = 3;
const resources: Sample[] = Array.from({ length: PATIENTS }, (_, p) => [
  {
    resourceType: 'Patient',
    id: `p${p}`,
    name: [{ family: 'Hill' }],
    generalPractitioner: [{ reference: 'Practitioner/d' }],
  },
  ...Array.from({ length: OBSERVATIONS }, (_, o) => ({
    resourceType: 'Observation',
    id: `o${p}${o}`,
    subject: { reference: `Patient/p${p}` },
    performer: [{ reference: 'Practitioner/d' }],
  })),
]).flat();
resources.push({ resourceType: 'Practitioner', id: 'd', active: true });

const stores: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];
const clinic = await openClinic(resources);

async function costOf(query: string, variables?: Variables, on: Clinic = clinic, more = {}): Promise<RequestCost> {
  const { errors, extensions } = await on.ask(query, variables, { reportCost: true, ...more });
  expect(errors).toBeUndefined();
  return extensions!.cost!;
}

// Rounded up. A resource costs 1 and a twentieth for each field taken from it, a call 2.
const ESTIMATES: readonly (readonly [query: string, cost: number, variables?: Variables])[] = [
  ['{ Patient(id: p0) { id } }', 4],
  ['{ Patient(id: p0) { id birthDate name { family given period { start } } } }', 4],
  ['{ PatientList { id } }', 107],
  ['{ PatientList(_count: 20) { id } }', 23],
  ['query ($n: Int) { PatientList(_count: $n) { id } }', 23, { n: 20 }],
  ['query ($n: Int = 5) { PatientList(_count: $n) { id } }', 8],
  ['{ a: PatientList(_count: 20) { id } b: PatientList(_count: 20) { id } }', 46],
  ['{ PatientList(_count: 20) { id ObservationList(_reference: subject, _count: 50) { id } } }', 1078],
  ['{ PatientConnection(_count: 20) { count } }', 2],
  ['{ PatientConnection(_count: 20) { edges { resource { id } } } }', 23],
  ['{ PatientConnection(_count: 20) { next edges { resource { id } } } }', 25],
  // 2 + 5 x 1.1 + 2 + 5 x 0.1 + 5 x 10 x 1.05
  ['{ PatientList(_count: 5) { id ObservationList(_reference: subject) { id } } }', 63],
  // A reference: 2 + 5 x 1.15 + 2 + 5 x 1.05. A list of references counts three times.
  ['{ ObservationList(_count: 5) { subject { resource { ... on Patient { id } } } } }', 15],
  ['{ ObservationList(_count: 5) { performer { resource { ... on Practitioner { id } } } } }', 26],
  ['{ ObservationList(_count: 5) { performer(_count: 1) { resource { ... on Practitioner { id } } } } }', 15],
  // Fragments cost the same as their contents.
  ['{ PatientList(_count: 20) { ...f } } fragment f on Patient { id }', 23],
  [
    'query ($on: Boolean = false) { PatientList(_count: 20) { id ObservationList(_reference: subject) @include(if: $on) { id } } }',
    23,
  ],
];

describe('the estimated cost', () => {
  test('is reported only on request', async () => {
    expect(await clinic.ask('{ Patient(id: p0) { id } }')).toEqual({ data: { Patient: { id: 'p0' } } });
  });

  test.each(ESTIMATES.map(([query, cost, variables]) => ({ query, cost, variables })))(
    'of $query is $cost',
    async ({ query, cost, variables }) => {
      expect((await costOf(query, variables)).estimated).toBe(cost);
    },
  );

  test('of a query about one instance includes the read of that instance', async () => {
    const { least, estimated, actual } = await costOf('{ id }', {}, clinic, { focus: 'Patient/p0' });
    expect([least, estimated, actual]).toEqual([2, 4, 4]);
  });

  test.each(stores)('is never less than the cost on %s, if lists have _count', async (_, openStore) => {
    const on = await openClinic(resources, openStore());
    const count = fc.integer({ min: 0, max: 6 });
    await fc.assert(
      fc.asyncProperty(count, count, count, fc.boolean(), async (a, b, c, cursors) => {
        const query = `query ($a: Int, $b: Int, $c: Int) {
          PatientList(_count: $a) {
            id name { family }
            generalPractitioner { resource { ... on Practitioner { id active } } }
            ObservationList(_reference: subject, _count: $b) { id subject { resource { ... on Patient { id } } } }
          }
          ObservationConnection(_count: $c) {
            count ${cursors ? 'next' : ''} edges { resource { performer { resource { ... on Practitioner { id } } } } }
          }
        }`;
        const { least, estimated, actual } = await costOf(query, { a, b, c }, on);
        expect(least).toBe(4);
        expect(actual).toBeLessThanOrEqual(estimated);
        expect(actual).toBeGreaterThanOrEqual(least);
        const more = await costOf(query, { a: a + 1, b: b + 1, c: c + 1 }, on);
        expect(more.estimated).toBeGreaterThan(estimated);
      }),
      { numRuns: cases(30) },
    );
  });

  test('the real cost is counted in the same unit', async () => {
    expect(
      await costOf('{ PatientList(_count: 4) { id ObservationList(_reference: subject, _count: 3) { id } } }'),
    ).toEqual({
      least: 2,
      estimated: 22,
      actual: 22,
      storeCalls: 2,
      rows: PATIENTS + PATIENTS * OBSERVATIONS,
      fhirpathSteps: 0,
    });
  });
});

describe('the steps of FHIRPath', () => {
  test('are counted over all evaluations of a request', async () => {
    const filtered = await costOf(
      '{ PatientList(fhirpath: "name.exists()") { name(fhirpath: "family = \'Hill\'") { family } } }',
    );
    expect(filtered.fhirpathSteps).toBeGreaterThan(40);
    const sliced = await costOf('{ PatientList { name @flatten @slice(path: "family") { family } } }', {}, clinic);
    expect(sliced.fhirpathSteps).toBeGreaterThan(0);
  });

  test('end a request, even if each evaluation is within its own limit', async () => {
    const query = '{ PatientList { id name(fhirpath: "family.select($this & \'x\').count() > 0") { family } } }';
    const refused = await clinic.ask(query, {}, { limits: { fhirpathSteps: 100 } });
    expect(failures(refused)).toEqual(['too-costly']);
    expect(refused.errors![0]!.extensions.details).toMatchObject({ limit: 'fhirpathSteps', max: 100 });
  });
});

describe('variables', () => {
  test('are measured with their contents, and cannot nest without limit', async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'x' : [nested(levels - 1)]);
    const query = '{ PatientList(_count: 1) { id } }';
    expect(failures(await clinic.ask(query, { unused: nested(100) as never }))).toEqual([]);
    expect(failures(await clinic.ask(query, { unused: nested(101) as never }))).toEqual(['too-costly']);
    const many = { unused: Array.from({ length: 1000 }, () => ({ a: true })) };
    expect(failures(await clinic.ask(query, many, { limits: { variablesSize: 201_106 } }))).toEqual([]);
    expect(failures(await clinic.ask(query, many, { limits: { variablesSize: 201_105 } }))).toEqual(['too-costly']);
  });
});
