import { expect, test } from 'vitest';
import { systemCaller } from '../../src/access/caller.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { put } from '../../src/testing/conformance-case.js';
import { executeBy, ManualClock } from './manual-clock.js';

const PATIENTS = 400;
const PROJECT = 'clinic';

async function clinic(): Promise<MemoryStore> {
  const store = new MemoryStore();
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
  let turns = 0;
  let isOver = false;
  const countTurns = (): void => {
    turns += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const { errors, data } = await executeBy(clock, query, {
    store,
    caller: systemCaller(PROJECT),
    limits: { timeout: 1e9, storeCalls: PATIENTS },
  });
  isOver = true;
  expect(errors).toEqual([]);
  expect(JSON.stringify(data)).toContain(`${PATIENTS - 1}`);
  // 32 places of a level are a turn, and so are 32 resources that are filtered.
  expect(turns).toBeGreaterThanOrEqual(levels * (PATIENTS / 32));
});

test('short answers look at the clock as often as before', async () => {
  const store = await clinic();
  const clock = new ManualClock();
  await executeBy(clock, '{ PatientList(_count: 20) { id } }', { store, caller: systemCaller(PROJECT) });
  expect(clock.looks).toBeLessThan(10);
});
