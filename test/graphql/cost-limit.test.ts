import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryStore, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { CallOptions } from '../../src/store.js';
import { cases } from '../support/chance.js';
import { storeWith } from '../support/store-with.js';
import { failures, openClinic, type Clinic, type Sample } from './harness.js';
import { neverPause } from '../support/never-pause.js';

neverPause();

const PATIENTS = 4;
const OBSERVATIONS = 3;
const resources: Sample[] = Array.from({ length: PATIENTS }, (_, p) => [
  { resourceType: 'Patient', id: `p${p}` },
  { resourceType: 'Encounter', id: `e${p}`, subject: { reference: `Patient/p${p}` } },
  ...Array.from({ length: OBSERVATIONS }, (_, o) => ({
    resourceType: 'Observation',
    id: `o${p}${o}`,
    subject: { reference: `Patient/p${p}` },
    encounter: { reference: `Encounter/e${p}` },
  })),
]).flat();

const clinic = await openClinic(resources);

/** The store of the clinic, with its recorded calls and their sizes. */
function watched({ store }: Clinic = clinic) {
  const calls: string[] = [];
  const options: (CallOptions | undefined)[] = [];
  let running = 0;
  let together = 0;
  const watch = async <Result>(name: string, given: CallOptions | undefined, call: () => Promise<Result>) => {
    calls.push(name);
    options.push(given);
    running += 1;
    together = Math.max(together, running);
    // A store that answers later.
    await new Promise((resolve) => setImmediate(resolve));
    const result = await call();
    running -= 1;
    return result;
  };
  const wrapped: ResourceStore = storeWith(store, {
    search: (query, given) => watch(query.type, given, () => store.search(query, given)),
    searchByReference: (query, parameter, targets, given) =>
      watch(`${query.type} of ${targets.length}`, given, () =>
        store.searchByReference(query, parameter, targets, given),
      ),
  });
  return { store: wrapped, calls, options, together: () => together };
}

function aliases(count: number, field: string): string {
  return `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')} }`;
}

describe('the cost limit', () => {
  test.each([
    [
      'four lists without _count, one in the other, over a few rows',
      '{ PatientList { id EncounterList(_reference: subject) { id ObservationList(_reference: encounter) { id DiagnosticReportList(_reference: result) { id } } } } }',
      117_000,
    ],
    [
      'a ward with long pages over a few rows',
      `{ PatientList(_count: 100) { id
          EncounterList(_reference: subject, _count: 50) { id }
          ObservationList(_reference: subject, _count: 1000) { id } } }`,
      110_000,
    ],
    [
      'a long page of long lists',
      '{ PatientList(_count: 10000) { ObservationList(_reference: subject) { id } } }',
      115_000,
    ],
    ['190 long pages side by side', aliases(190, 'PatientList(_count: 1000) { id }'), 199_000],
  ])('answers %s, whatever its estimated cost', async (_, query, estimate) => {
    const { errors, extensions } = await clinic.ask(query, {}, { reportCost: true });
    expect(errors).toBeUndefined();
    expect(extensions!.cost!.estimated).toBeGreaterThan(estimate);
    expect(extensions!.cost!.actual).toBeLessThan(1_200);
  });

  test('is reported with the cost so far and the least cost of the next step', async () => {
    // Four patients: 2 + 4 x 1.15; then twice 2 + 4 x 0.1.
    const query =
      '{ PatientList { id EncounterList(_reference: subject) { id } ObservationList(_reference: subject) { id } } }';
    const { store, calls } = watched();
    const refused = await clinic.ask(query, {}, { store, limits: { cost: 11 } });
    expect(failures(refused)).toEqual(['too-costly']);
    expect(refused.errors![0]!.extensions.details).toEqual({ limit: 'cost', max: 11, value: 12 });
    expect(calls).toEqual(['Patient']);
    expect((await clinic.ask(query, {}, { store, limits: { cost: 12 } })).errors![0]!.extensions.details).toMatchObject(
      {
        limit: 'cost',
      },
    );
    // The least cost of both is affordable, the cost of the encounters is not.
    expect(calls.slice(1)).toEqual(['Patient', 'Encounter of 4']);
  });

  test('counts each parent of a reverse list, even a parent without matches', async () => {
    const many = await openClinic(
      Array.from({ length: 1000 }, (_, index) => ({ resourceType: 'Patient', id: `p${index}` })),
    );
    const lists = Array.from(
      { length: 20 },
      (_, index) => `a${index}: ObservationList(_reference: subject, _count: ${index + 1}) { id }`,
    );
    const query = `{ PatientList { id ${lists.join(' ')} } }`;
    const { store, calls } = watched(many);
    const refused = await many.ask(query, {}, { store, limits: { cost: 4_091 } });
    expect(refused.errors![0]!.extensions.details).toMatchObject({ limit: 'cost', max: 4_091 });
    expect(calls).toEqual(['Patient']);
    // 2 + 1000 x 2.05, and twenty times 2 + 1000 x 0.1.
    expect(failures(await many.ask(query, {}, { limits: { cost: 4_092 } }))).toEqual([]);
  });

  test('refuses root fields that alone cost more before the store call', async () => {
    const { store, calls } = watched();
    const refused = await clinic.ask(aliases(5, 'PatientList(_count: 1) { id }'), {}, { store, limits: { cost: 9 } });
    expect(refused.errors![0]!.extensions.details).toEqual({ limit: 'cost', max: 9, value: 10 });
    expect(calls).toEqual([]);
  });

  test('refuses a mutation by its estimate, before it writes', async () => {
    const query =
      'mutation { PatientCreate(res: {}) { id ObservationList(_reference: subject, _count: 1000) { id } } }';
    const refused = await clinic.ask(query, {}, { limits: { cost: 500 } });
    expect(refused.errors![0]!.extensions.details).toEqual({ limit: 'cost', max: 500, value: 1_056 });
    expect(await clinic.data('{ PatientConnection { count } }')).toEqual({ PatientConnection: { count: PATIENTS } });
  });
});

describe('store calls of one level', () => {
  test('run concurrently if the budget covers the most that they can read', async () => {
    const query = aliases(6, 'PatientList(_count: 20) { id }');
    for (const [cost, together] of [
      [6 * 23, 6],
      [3 * 23, 3],
      [60, 2],
      [40, 1],
    ] as const) {
      const on = watched();
      const { errors } = await clinic.ask(query, {}, { store: on.store, limits: { cost } });
      expect(errors).toBeUndefined();
      expect(on.together()).toBe(together);
      expect(on.calls).toHaveLength(6);
    }
  });

  test('stop at the call that exceeds the budget', async () => {
    // 6.2 each; the last to begin needs 2 at least.
    const { store, calls } = watched();
    const refused = await clinic.ask(aliases(6, 'PatientList(_count: 20) { id }'), {}, { store, limits: { cost: 22 } });
    expect(failures(refused)).toEqual(['too-costly']);
    expect(calls).toHaveLength(3);
  });
});

describe.each([
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
] as const)('%s', (_, openStore) => {
  test('is asked for at most the resources of a reverse list that the budget allows', async () => {
    const on = await openClinic(resources, openStore());
    const query = '{ PatientList { ObservationList(_reference: subject) { id } } }';
    const asked = watched(on);
    expect(failures(await on.ask(query, {}, { store: asked.store, limits: { rows: 16 } }))).toEqual([]);
    expect(asked.options[1]).toMatchObject({ maxResources: 12 });
    for (const [limits, details] of [
      [{ rows: 15 }, { limit: 'rows', max: 15, value: 16 }],
      [{ cost: 20 }, { limit: 'cost', max: 20 }],
    ] as const) {
      const refused = await on.ask(query, {}, { limits });
      expect(failures(refused)).toEqual(['too-costly']);
      expect(refused.errors![0]!.extensions.details).toMatchObject(details);
    }
    await on.store.close();
  });
});

test('no answer costs more than the limit, and every answer within the limit is given', async () => {
  const lists = fc.record({
    a: fc.integer({ min: 0, max: 6 }),
    b: fc.integer({ min: 0, max: 5 }),
    plain: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1, max: 40 }), async ({ a, b, plain }, cost) => {
      const query = `{ PatientList(_count: ${a}) { id
        ObservationList(_reference: subject ${plain ? '' : `, _count: ${b}`}) { id encounter { resource { id } } } } }`;
      const free = (await clinic.ask(query, {}, { reportCost: true, limits: { cost: 1e9 } })).extensions!.cost!;
      const bounded = await clinic.ask(query, {}, { limits: { cost } });
      // The report is rounded up.
      expect(failures(bounded)).toEqual(free.actual <= cost ? [] : ['too-costly']);
    }),
    { numRuns: cases(40) },
  );
});
