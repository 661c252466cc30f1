import { beforeAll, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, systemCaller } from '../../src/index.js';
import { put } from '../support/kit.js';
import { PACE } from '../../src/platform/pace.js';
import { sparingStore } from '../support/sparing-store.js';
import { countTurns } from '../support/count-turns.js';
import { executeBy, ManualClock } from './manual-clock.js';

const PATIENTS = 400;
const PROJECT = 'clinic';

// The manual clock alone decides when a request waits for its next turn.
beforeAll(() => void (PACE.turnMs = 1e9));

async function clinic(): Promise<MemoryStore> {
  const store = sparingStore(new MemoryStore());
  const resources: AnyResource[] = Array.from({ length: PATIENTS }, (_, index) => [
    { resourceType: 'Patient', id: `p${index}`, ...{ name: [{ family: `Lee${index}` }] } },
    { resourceType: 'Observation', id: `o${index}`, ...{ subject: { reference: `Patient/p${index}` } } },
  ]).flat();
  await store.commit(resources.map((resource) => ({ ...put(resource), key: keyOf(resource) })));
  return store;
}

function keyOf({ resourceType: type, id }: AnyResource) {
  return { project: PROJECT, type, id: id! };
}

const reads = Array.from({ length: PATIENTS }, (_, index) => `p${index}: Patient(id: "p${index}") { id }`).join(' ');

test.each([
  ['lists', `{ PatientList(_count: ${PATIENTS}) { id name { family } } }`, 1],
  ['connections', `{ PatientConnection(_count: ${PATIENTS}) { edges { resource { id } } } }`, 1],
  ['filtered lists', `{ PatientList(_count: ${PATIENTS}, fhirpath: "name.exists()") { id } }`, 2],
  ['references', `{ ObservationList(_count: ${PATIENTS}) { subject { resource { ... on Patient { id } } } } }`, 2],
  ['reverse lists', `{ PatientList(_count: ${PATIENTS}) { ObservationList(_reference: subject) { id } } }`, 2],
  ['reads', `{ ${reads} }`, 1],
])('%s of a long answer are filled in turns with other work', async (_, query, levels) => {
  const store = await clinic();
  // Each look at the clock finds that the turn is over.
  const clock = new ManualClock((one) => one.pass(5));
  const { result, turns } = await countTurns(() =>
    executeBy(clock, query, {
      store,
      caller: systemCaller(PROJECT),
      limits: { timeout: 1e9, storeCalls: PATIENTS },
    }),
  );
  const { errors, data } = result;
  expect(errors).toEqual([]);
  expect(JSON.stringify(data)).toContain(`${PATIENTS - 1}`);
  // 32 places of a level are a turn, and so are 32 resources that are filtered.
  expect(turns).toBeGreaterThanOrEqual(levels * (PATIENTS / 32));
});

test('long answers are shaped in turns with other work', async () => {
  const store = await clinic();
  const clock = new ManualClock((one) => one.pass(5));
  const ask = (query: string, dialect: 'hl7' | 'standard') =>
    countTurns(() =>
      executeBy(clock, query, { store, caller: systemCaller(PROJECT), dialect, limits: { timeout: 1e9 } }),
    );
  const plain = await ask(`{ PatientList(_count: ${PATIENTS}) { id name { family } gender } }`, 'standard');
  const shaped = await ask(`{ PatientList(_count: ${PATIENTS}) { id name { family } gender } }`, 'hl7');
  expect(JSON.stringify(shaped.result.data)).toBe(JSON.stringify(plain.result.data).replaceAll(',"gender":null', ''));
  // The patients and their names, 32 in a turn.
  expect(shaped.turns - plain.turns).toBeGreaterThanOrEqual((2 * PATIENTS) / 32 - 2);
});

test('the errors of a long answer find their paths in turns with other work', async () => {
  const store = await clinic();
  const clock = new ManualClock((one) => one.pass(5));
  const ask = (field: string) =>
    countTurns(() =>
      executeBy(clock, `{ PatientList(_count: ${PATIENTS}) { id name { family } } ${field} }`, {
        store,
        caller: systemCaller(PROJECT),
        limits: { timeout: 1e9 },
      }),
    );
  const found = await ask('Patient(id: "p1") { id }');
  const failed = await ask('Patient(id: "lost") { id }');
  expect(failed.result.errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
    [['Patient'], 'not-found'],
  ]);
  // Patients, their lists of names and the names, 256 in a turn.
  expect(failed.turns - found.turns).toBeGreaterThanOrEqual(Math.floor((3 * PATIENTS) / 256));
});

const NAMES = Array.from({ length: PATIENTS }, (_, index) => ({
  family: `Lee${index}`,
  given: index % 2 ? ['A'] : [],
}));
const CONTACTS = NAMES.map((name, index) => ({ name, organization: { reference: `Patient/p${index}` } }));
const ODD = NAMES.filter((_, index) => index % 2 === 1);

test.each([
  [
    'filters of elements',
    '{ p: Patient(id: "long") { name(fhirpath: "given.exists()") { family given } } }',
    { name: ODD },
  ],
  [
    'filters with a page',
    '{ p: Patient(id: "long") { id name(fhirpath: "given.exists()", _offset: 3, _count: 2) { family given } gender } }',
    { id: 'long', name: ODD.slice(3, 5), gender: 'female' },
  ],
  [
    'filters around filters and references',
    `{ p: Patient(id: "long") { contact(fhirpath: "name.given.exists()") {
      name { family } organization { resource { ... on Patient { id } } } } } }`,
    {
      contact: CONTACTS.flatMap(({ name: { family } }, index) =>
        index % 2 ? { name: { family }, organization: { resource: { id: `p${index}` } } } : [],
      ),
    },
  ],
  [
    'slices',
    '{ p: Patient(id: "long") { name @slice(fhirpath: "family") { given } } }',
    Object.fromEntries(NAMES.map(({ family, given }) => [`name.${family}`, [{ given }]])),
  ],
])('%s of a long list are evaluated in turns with other work', async (_, query, expected) => {
  const store = await clinic();
  const long = { resourceType: 'Patient', id: 'long', gender: 'female', name: NAMES, contact: CONTACTS } as AnyResource;
  await store.commit([{ ...put(long), key: keyOf(long) }]);
  const clock = new ManualClock((one) => one.pass(5));
  const { result, turns } = await countTurns(() =>
    executeBy(clock, query, { store, caller: systemCaller(PROJECT), limits: { timeout: 1e9 } }),
  );
  expect(result.errors).toEqual([]);
  expect(JSON.stringify(result.data)).toBe(JSON.stringify({ p: expected }));
  expect(result.storeCalls).toBeLessThanOrEqual(2);
  // One item may take milliseconds.
  expect(turns).toBeGreaterThanOrEqual(PATIENTS);
});

test('the expressions of a resource are compiled in turns with other work', async () => {
  const store = await clinic();
  const clock = new ManualClock((one) => one.pass(5));
  const fields = Array.from({ length: 50 }, (_, n) => `a${n}: name(fhirpath: "family = 'Lee${n}'") { family }`);
  const query = `{ Patient(id: "p7") { id ${fields.join(' ')} gender } }`;
  const { result, turns } = await countTurns(() =>
    executeBy(clock, query, { store, caller: systemCaller(PROJECT), limits: { timeout: 1e9 } }),
  );
  expect(result.errors).toEqual([]);
  const { Patient } = result.data as { Patient: object };
  expect(Object.keys(Patient)).toEqual(['id', ...fields.map((_, n) => `a${n}`), 'gender']);
  expect(Patient).toMatchObject({ a6: [], a7: [{ family: 'Lee7' }] });
  expect(turns).toBeGreaterThanOrEqual(fields.length);
});

test('slices of many resources are evaluated in turns with other work', async () => {
  const store = await clinic();
  const clock = new ManualClock((one) => one.pass(5));
  const query = `{ PatientList(_count: ${PATIENTS}) @slice(fhirpath: "name.family") { id } }`;
  const { result, turns } = await countTurns(() =>
    executeBy(clock, query, { store, caller: systemCaller(PROJECT), limits: { timeout: 1e9 } }),
  );
  expect(result.errors).toEqual([]);
  expect(Object.keys(result.data!)).toHaveLength(PATIENTS);
  expect(result.data!['PatientList.Lee7']).toEqual([{ id: 'p7' }]);
  expect(turns).toBeGreaterThanOrEqual(PATIENTS);
});

test('an expression that fails for an item of a long list fails only the list', async () => {
  const store = await clinic();
  const long = { resourceType: 'Patient', id: 'long', gender: 'female', name: NAMES } as AnyResource;
  await store.commit([{ ...put(long), key: keyOf(long) }]);
  const query = '{ Patient(id: "long") { name(fhirpath: "given + 1 = 2") { family } gender } }';
  const { data, errors } = await executeBy(new ManualClock(), query, { store, caller: systemCaller(PROJECT) });
  expect(data).toEqual({ Patient: { name: null, gender: 'female' } });
  expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([[['Patient', 'name'], 'invalid']]);
});

test('short answers check the clock no more often than before', async () => {
  const store = await clinic();
  const clock = new ManualClock();
  await executeBy(clock, '{ PatientList(_count: 20) { id } }', { store, caller: systemCaller(PROJECT) });
  expect(clock.looks).toBeLessThan(10);
});
