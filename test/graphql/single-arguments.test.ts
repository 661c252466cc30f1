import { describe, expect, test } from 'vitest';
import { explainFhirGraphql, MemoryStore } from '../../src/index.js';
import { countCalls } from './counting-store.js';
import { caller, failures, messages, openClinic } from './harness.js';

const counting = countCalls(new MemoryStore());
const clinic = await openClinic(
  [
    { resourceType: 'Patient', id: 'a', name: [{ family: 'Hill' }] },
    { resourceType: 'Patient', id: 'b' },
    { resourceType: 'Observation', id: 'o', subject: { reference: 'Patient/a' } },
  ],
  counting.store,
);

/** Arguments that accept one value, with a variable for it that can be a list. */
const SINGLE: readonly (readonly [name: string, query: string, values: readonly [string, string], data: unknown])[] = [
  ['id', 'query ($v: [ID]) { Patient(id: $v) { id } }', ['a', 'b'], { Patient: { id: 'a' } }],
  ['id', 'query ($v: [ID]) { Patient(_id: $v) { id } }', ['a', 'b'], { Patient: { id: 'a' } }],
  [
    'type',
    'query ($v: [String]) { Observation(id: "o") { subject { resource(type: $v) { id } } } }',
    ['Patient', 'Group'],
    { Observation: { subject: { resource: { id: 'a' } } } },
  ],
  [
    '_reference',
    'query ($v: [String]) { Patient(id: "a") { ObservationList(_reference: $v) { id } } }',
    ['subject', 'patient'],
    { Patient: { ObservationList: [{ id: 'o' }] } },
  ],
  [
    'fhirpath',
    'query ($v: [String]) { PatientList(fhirpath: $v) { id } }',
    ['name.exists()', 'true'],
    { PatientList: [{ id: 'a' }] },
  ],
  [
    'fhirpath',
    'query ($v: [String]) { Patient(id: "a") { name(fhirpath: $v) { family } } }',
    ['family.exists()', 'true'],
    { Patient: { name: [{ family: 'Hill' }] } },
  ],
];

describe.each(SINGLE)('argument %s in %s', (name, query, [value, second], data) => {
  test('accepts a list of one value', async () => {
    expect(await clinic.data(query, { v: [value] })).toEqual(data);
  });

  test('refuses a list of two', async () => {
    const result = await clinic.ask(query, { v: [value, second] });
    expect(messages(result)).toEqual([`Argument "${name}" must be a single value`]);
    expect(failures(result)[0]).toMatch(/^invalid at /);
  });
});

test('a list of two ids reads nothing, even next to other reads, and is explained as a failure', async () => {
  const query = 'query ($v: [ID]) { two: Patient(id: $v) { id } one: Patient(id: "b") { id } }';
  const variables = { v: ['a', 'b'] };
  counting.takeCalls();
  const result = await clinic.ask(query, variables);
  expect(result.data).toEqual({ two: null, one: { id: 'b' } });
  expect(counting.takeCalls()).toEqual(['read Patient/b']);
  const { plan } = await explainFhirGraphql(query, { store: clinic.store, caller, variables });
  expect(plan.calls.map(({ path, asked, fault }) => [path, asked, fault])).toEqual([
    ['two', false, 'Argument "id" must be a single value'],
    ['one', true, undefined],
  ]);
  expect(failures(await clinic.ask('{ Patient(id: ["a", "b"]) { id } }'))).toEqual(['invalid (1:15)']);
});
