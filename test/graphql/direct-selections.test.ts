import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../src/index.js';
import { cases, SEED } from '../support/chance.js';
import { failures, messages, openClinic } from './harness.js';

const clinic = await openClinic([
  {
    resourceType: 'Patient',
    id: 'p',
    active: true,
    name: [
      { use: 'official', family: 'Hill', period: { start: '2000' } },
      { use: 'old', family: 'Brook' },
    ],
    contact: [{ name: { family: 'Lee' } }],
    identifier: [{ value: '7' }],
    deceasedBoolean: false,
  },
  { resourceType: 'Group', id: 'g', active: false, name: 'Choir', quantity: 3, code: { text: 'choir' } },
  { resourceType: 'Device', id: 'd', status: 'active', type: { text: 'pump' }, contact: [{ value: '1' }] },
  { resourceType: 'ServiceRequest', id: 's', status: 'draft', intent: 'order', code: { text: 'blood' }, subject: { reference: 'Patient/p' } },
  { resourceType: 'Medication', id: 'm', status: 'active', code: { text: 'aspirin' } },
  { resourceType: 'MedicationRequest', id: 'mr', status: 'active', medicationReference: { reference: 'Medication/m' }, subject: { reference: 'Patient/p' } },
  ...['p', 'g', 'd'].map((id) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    subject: { reference: { p: 'Patient/p', g: 'Group/g', d: 'Device/d' }[id] },
    basedOn: [{ reference: 'ServiceRequest/s' }, { reference: 'MedicationRequest/mr' }],
  })),
  { resourceType: 'CapabilityStatement', id: 'c', rest: [{ resource: [{ type: 'Patient', versioning: 'versioned' }, { type: 'Group' }] }] },
]); // prettier-ignore

const DIALECTS: readonly Dialect[] = ['standard', 'hl7'];

describe.each(DIALECTS)('resource(type:) in dialect %s', (dialect) => {
  const absent = dialect === 'hl7' ? {} : { resource: null };

  test('gives its type to the direct selections', async () => {
    const query = `{ Observation(id: "p") { basedOn {
      resource(type: ServiceRequest) { status intent code { text } subject { resource(type: "Patient") { name { family } } } }
    } } }`;
    expect(await clinic.data(query, {}, { dialect })).toEqual({
      Observation: {
        basedOn: [
          {
            resource: {
              status: 'draft',
              intent: 'order',
              code: { text: 'blood' },
              subject: { resource: { name: [{ family: 'Hill' }, { family: 'Brook' }] } },
            },
          },
          absent,
        ],
      },
    });
  });

  test('refuses fields that the type lacks, at their position', async () => {
    const query = '{ Observation(id: "p") { basedOn { resource(type: ServiceRequest) { id birthDate } } } }';
    const result = await clinic.ask(query, {}, { dialect });
    expect(messages(result)).toEqual([
      expect.stringContaining('Cannot query field "birthDate" on type "ServiceRequest".'),
    ]);
    expect(failures(result)).toEqual(['invalid (1:72)']);
  });

  test('does not change fragments next to it', async () => {
    const query = `{ Observation(id: "p") { subject { resource(type: Patient) {
      active ... on Patient { name(use: "old") { family } } ...r ... on Group { quantity } ... @include(if: true) { deceasedBoolean } id
    } } } } fragment r on Resource { resourceType }`;
    const { data } = await clinic.ask(query, {}, { dialect });
    expect(JSON.stringify(data)).toBe(
      '{"Observation":{"subject":{"resource":{"active":true,"name":[{"family":"Brook"}],"resourceType":"Patient","deceasedBoolean":false,"id":"p"}}}}',
    );
  });

  test('does not affect elements of the same name and argument', async () => {
    const query = '{ CapabilityStatement(id: "c") { rest { resource(type: "Patient") { versioning } } } }';
    expect(await clinic.data(query, {}, { dialect })).toEqual({
      CapabilityStatement: { rest: [{ resource: [{ versioning: 'versioned' }] }] },
    });
  });

  test('accepts a document object and does not change it', async () => {
    const { parse, print } = await import('graphql/index.js');
    const document = parse('{ Observation(id: "g") { subject { resource(type: Group) { name } } } }');
    const before = print(document);
    for (let time = 0; time < 2; time += 1) {
      expect(await clinic.data(document as never, {}, { dialect })).toEqual({
        Observation: { subject: { resource: { name: 'Choir' } } },
      });
    }
    expect(print(document)).toBe(before);
  });
});

describe('fields directly on a reference to several types, in dialect hl7', () => {
  const ask = (query: string) => clinic.data(query, {}, { dialect: 'hl7' });
  const subject = (id: string, selection: string): string =>
    `{ Observation(id: "${id}") { subject { resource { ${selection} } } } }`;
  const resource = (found: object): object => ({ Observation: { subject: { resource: found } } });

  test.each([
    ['p', 'name { family }', { name: [{ family: 'Hill' }, { family: 'Brook' }] }],
    ['p', 'name(use: "old") { family period { start } }', { name: [{ family: 'Brook' }] }],
    // The name of a group is a string: a selection cannot mean it, and without a selection it cannot be the name of a patient.
    ['g', 'name { family } id', { id: 'g' }],
    ['g', 'name', { name: 'Choir' }],
    ['p', 'name id', { id: 'p' }],
    ['p', 'contact { name { family } }', { contact: [{ name: { family: 'Lee' } }] }],
    ['d', 'contact { name { family } value }', { contact: [{ value: '1' }] }],
    ['d', 'status type { text }', { status: 'active', type: { text: 'pump' } }],
    ['p', 'deceased', { deceased: false }],
    ['g', 'quantity code { text }', { quantity: 3, code: { text: 'choir' } }],
    ['p', 'ObservationList(_reference: subject) { id }', { ObservationList: [{ id: 'p' }] }],
  ])('%s { %s }', async (id, selection, found) => {
    expect(await ask(subject(id, selection))).toEqual(resource(found));
  });

  test('work behind a choice, which can be a reference itself', async () => {
    const query = '{ MedicationRequest(id: "mr") { medication { resource { code { text } } text } } }';
    expect(await ask(query)).toEqual({
      MedicationRequest: { medication: { resource: { code: { text: 'aspirin' } } } },
    });
    const typed = '{ MedicationRequest(id: "mr") { medication { resource(type: Medication) { status } } } }';
    expect(await ask(typed)).toEqual({ MedicationRequest: { medication: { resource: { status: 'active' } } } });
  });

  test('that no type has are refused', async () => {
    const result = await clinic.ask(subject('p', 'nothing'), {}, { dialect: 'hl7' });
    expect(messages(result)).toEqual([expect.stringContaining('Cannot query field "nothing" on type "Resource".')]);
    const inside = await clinic.ask(subject('p', 'name { nothing }'), {}, { dialect: 'hl7' });
    expect(messages(inside)).toEqual([expect.stringContaining('Cannot query field "nothing"')]);
  });
});

/** Fields by the types of Observation.subject that have them. */
const FIELDS: readonly (readonly [field: string, ...types: string[]])[] = [
  ['id', 'Patient', 'Group', 'Device'],
  ['active', 'Patient', 'Group'],
  ['name { family }', 'Patient'],
  ['name', 'Group'],
  ['identifier { value }', 'Patient', 'Group', 'Device'],
  ['quantity', 'Group'],
  ['a: status', 'Device'],
  ['type', 'Group'],
  ['type { text }', 'Device'],
  ['deceased', 'Patient'],
];

test('a direct selection has the same answer as a fragment for each type', async () => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...FIELDS], { minLength: 1 }), async (fields) => {
      // Each key once: dialect hl7 collates.
      const chosen = fields.filter(([field], at) => fields.findIndex(([one]) => keyOf(one) === keyOf(field)) === at);
      const direct = chosen.map(([field]) => field).join(' ');
      const fragments = ['Patient', 'Group', 'Device'].map((type) => {
        const own = chosen.filter(([, ...types]) => types.includes(type)).map(([field]) => field);
        return `... on ${type} { ${own.length === 0 ? '__typename @skip(if: true)' : own.join(' ')} }`;
      });
      const query = (selection: string): string => `{ ObservationList { subject { resource { ${selection} } } } }`;
      const [one, other] = await Promise.all(
        [direct, fragments.join(' ')].map((selection) => clinic.ask(query(selection), {}, { dialect: 'hl7' })),
      );
      expect(one!.errors).toBeUndefined();
      expect(JSON.stringify(one)).toBe(JSON.stringify(other));
    }),
    { seed: SEED, numRuns: cases(60, 40) },
  );
});

function keyOf(field: string): string {
  return /^\w+/.exec(field)![0];
}

test('pagesize is a number in dialect hl7, also without _count', async () => {
  const query = '{ PatientConnection { pagesize pageSize count } GroupConnection(_count: 2) { pagesize } }';
  expect(await clinic.data(query, {}, { dialect: 'hl7', limits: { listSize: 500 } })).toEqual({
    PatientConnection: { pagesize: 500, pageSize: 500, count: 1 },
    GroupConnection: { pagesize: 2 },
  });
  expect(await clinic.data(query)).toMatchObject({ PatientConnection: { pagesize: null } });
});
