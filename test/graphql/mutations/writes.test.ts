import { describe, expect, test } from 'vitest';
import { codeOf, overStores } from '../../repository/harness.js';
import { failures, messages } from '../harness.js';
import { openClinic } from './harness.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

overStores('mutations', (open) => {
  describe('create', () => {
    test('stores a resource under an id of the service, and returns it', async () => {
      const clinic = await openClinic(open());
      const data = (await clinic.data(
        'mutation { PatientCreate(res: { id: "mine", name: [{ family: "Hill" }] }) { __typename resourceType id name { family } meta { versionId } } }',
      )) as { PatientCreate: { id: string } };
      expect(data.PatientCreate).toEqual({
        __typename: 'Patient',
        resourceType: 'Patient',
        id: expect.stringMatching(UUID),
        name: [{ family: 'Hill' }],
        meta: { versionId: '1' },
      });
      expect(await clinic.ids('Patient')).toEqual([data.PatientCreate.id]);
    });

    test('returns the resource that ifNoneExist finds, and then stores nothing', async () => {
      const clinic = await openClinic(open());
      const mutation = `mutation ($search: String) {
        PatientCreate(ifNoneExist: $search, res: { identifier: { system: "urn:mrn", value: "1" }, active: true }) { id active }
      }`;
      const variables = { search: 'identifier=urn:mrn|1' };
      const first = await clinic.data(mutation, variables);
      expect(await clinic.data(mutation, variables)).toEqual(first);
      expect(await clinic.data(mutation, { search: 'Patient?identifier=urn:mrn|1' })).toEqual(first);
      expect(await clinic.ids('Patient')).toHaveLength(1);
    });

    test('is refused if several resources match ifNoneExist, or if it is empty', async () => {
      const clinic = await openClinic(open());
      for (const id of ['a', 'b']) await clinic.trusted.update({ resourceType: 'Patient', id, gender: 'other' });
      const create = (search: string) =>
        clinic.ask(`mutation { PatientCreate(ifNoneExist: "${search}", res: {}) { id } }`);
      expect(failures(await create('gender=other'))).toEqual(['precondition-failed at PatientCreate (1:12)']);
      expect(failures(await create(''))).toEqual(['invalid at PatientCreate (1:12)']);
      expect(failures(await create('nonsense=1'))).toEqual(['invalid at PatientCreate (1:12)']);
      expect(await clinic.ids('Patient')).toEqual(['a', 'b']);
    });

    test('with the same condition twice in one document stores one resource', async () => {
      const clinic = await openClinic(open());
      const create = `PatientCreate(ifNoneExist: "identifier=7", res: { identifier: { value: "7" } }) { id }`;
      const data = (await clinic.data(`mutation { a: ${create} b: ${create} }`)) as {
        a: { id: string };
        b: { id: string };
      };
      expect(data.b).toEqual(data.a);
      expect(await clinic.ids('Patient')).toEqual([data.a.id]);
    });
  });

  describe('update', () => {
    test('stores the resource as a whole, even the first time', async () => {
      const clinic = await openClinic(open());
      const update = (res: string) =>
        clinic.data(`mutation { PatientUpdate(id: "p", res: ${res}) { id active gender meta { versionId } } }`);
      expect(await update('{ active: true, gender: female }')).toEqual({
        PatientUpdate: { id: 'p', active: true, gender: 'female', meta: { versionId: '1' } },
      });
      expect(await update('{ id: "p", active: false }')).toEqual({
        PatientUpdate: { id: 'p', active: false, gender: null, meta: { versionId: '2' } },
      });
    });

    test.each([
      ['1', undefined],
      ['W/\\"1\\"', undefined],
      ['2', 'precondition-failed at PatientUpdate (1:12)'],
      ['1 or so', 'invalid at PatientUpdate (1:12)'],
    ])('with ifMatch "%s" of version 1: %s', async (ifMatch, failure) => {
      const clinic = await openClinic(open());
      await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
      const result = await clinic.ask(
        `mutation { PatientUpdate(id: p, ifMatch: "${ifMatch}", res: { active: true }) { active } }`,
      );
      expect(failures(result)).toEqual(failure === undefined ? [] : [failure]);
      expect(result.data).toEqual({ PatientUpdate: failure === undefined ? { active: true } : null });
      expect((await clinic.trusted.read('Patient', 'p')).active).toBe(failure === undefined ? true : undefined);
    });

    test.each([
      ['{ id: "q" }', 'The Patient in argument "res" has another id than argument "id"'],
      ['{ resourceType: "Group" }', 'Argument "res" must be a Patient; its resourceType names something else'],
    ])('is refused if the resource contradicts it: %s', async (res, message) => {
      const clinic = await openClinic(open());
      const result = await clinic.ask(`mutation { PatientUpdate(id: "p", res: ${res}) { id } }`);
      expect(messages(result)).toEqual([message]);
      expect(result.data).toEqual({ PatientUpdate: null });
      expect(await clinic.ids('Patient')).toEqual([]);
    });

    test('is refused under an invalid id', async () => {
      const clinic = await openClinic(open());
      const result = await clinic.ask('mutation { PatientUpdate(id: "no id", res: {}) { id } }');
      expect(failures(result)).toEqual(['invalid at PatientUpdate (1:12)']);
    });
  });

  describe('delete', () => {
    test.each(['PatientDelete(id: "p") { id }', 'PatientDelete(id: "p")', 'PatientDelete(id: p, ifMatch: "1")'])(
      'returns null: %s',
      async (field) => {
        const clinic = await openClinic(open());
        await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
        expect(await clinic.ask(`mutation { ${field} }`)).toEqual({ data: { PatientDelete: null } });
        expect(await codeOf(clinic.trusted.read('Patient', 'p'))).toBe('gone');
        const again = await clinic.ask('mutation { PatientDelete(id: "p") }');
        expect(again).toEqual({ data: { PatientDelete: null } });
      },
    );

    test('of a resource that never existed, or of another version, is refused', async () => {
      const clinic = await openClinic(open());
      await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
      const result = await clinic.ask('mutation { PatientDelete(id: "never") }');
      expect(failures(result)).toEqual(['not-found at PatientDelete (1:12)']);
      const other = await clinic.ask('mutation { PatientDelete(id: "p", ifMatch: "2") }');
      expect(failures(other)).toEqual(['precondition-failed at PatientDelete (1:12)']);
      expect(await clinic.ids('Patient')).toEqual(['p']);
    });
  });

  describe('one document is one transaction', () => {
    test('in the order of its fields, through fragments and conditions', async () => {
      const clinic = await openClinic(open());
      const data = await clinic.data(
        `mutation ($no: Boolean!) {
          first: PatientUpdate(id: "p", res: { active: true }) { active meta { versionId } }
          ...More
          left: PatientDelete(id: "p") @include(if: $no)
          ... on Mutation {
            third: PatientPatch(id: "p", patch: { op: test, path: "/active", value: false }) { meta { versionId } }
          }
        }
        fragment More on Mutation { second: PatientUpdate(id: "p", res: { active: false }) { active meta { versionId } } }`,
        { no: false },
      );
      expect(data).toEqual({
        first: { active: true, meta: { versionId: '1' } },
        second: { active: false, meta: { versionId: '2' } },
        third: { meta: { versionId: '3' } },
      });
      expect((await clinic.trusted.history('Patient', 'p')).total).toBe(3);
    });

    test.each([
      ['an update of another version', 'PatientUpdate(id: "old", ifMatch: "9", res: {}) { id }', 'precondition-failed'],
      ['a patch of nothing', 'PatientPatch(id: "never", patch: []) { id }', 'not-found'],
      [
        'a patch that does not hold',
        'PatientPatch(id: "old", patch: { op: remove, path: "/name" }) { id }',
        'unprocessable',
      ],
      ['a deletion of nothing', 'PatientDelete(id: "never")', 'not-found'],
      ['a resource of another type', 'PatientCreate(res: { resourceType: Group }) { id }', 'invalid'],
    ])('that has no effect if its second field is %s', async (_, field, code) => {
      const clinic = await openClinic(open());
      await clinic.trusted.update({ resourceType: 'Patient', id: 'old' });
      const result = await clinic.ask(`mutation {
  a: PatientUpdate(id: "old", res: { active: true }) { id }
  b: ${field}
  c: ObservationCreate(res: { status: final }) { id }
  __typename
}`);
      expect(failures(result)).toEqual([`${code} at b (3:3)`]);
      expect(result.data).toEqual({ a: null, b: null, c: null, __typename: 'Mutation' });
      expect(result.errors![0]!.extensions.details ?? {}).not.toHaveProperty('written');
      expect(await clinic.trusted.read('Patient', 'old')).not.toHaveProperty('active');
      expect(await clinic.ids('Observation')).toEqual([]);
    });

    test('with selections that see its final state', async () => {
      const clinic = await openClinic(open());
      const data = await clinic.data(`mutation {
        PatientUpdate(id: "p", res: { active: true }) {
          ObservationList(_reference: subject, _sort: "_id") { id }
          ObservationConnection(_reference: subject) { count }
        }
        a: ObservationUpdate(id: "a", res: { status: final, subject: { reference: "Patient/p" } }) {
          subject { reference resource { ... on Patient { id active } } }
        }
        b: ObservationUpdate(id: "b", res: { status: final, subject: { reference: "Patient/p" } }) { id }
        c: PatientUpdate(id: "p", res: { active: false }) { active }
      }`);
      expect(data).toEqual({
        PatientUpdate: { ObservationList: [{ id: 'a' }, { id: 'b' }], ObservationConnection: { count: 2 } },
        a: { subject: { reference: 'Patient/p', resource: { id: 'p', active: false } } },
        b: { id: 'b' },
        c: { active: false },
      });
    });

    test('with errors that say whether they came after the commit', async () => {
      const clinic = await openClinic(open());
      const mutation =
        'mutation { ObservationUpdate(id: "o", res: { status: final, subject: { reference: "Patient/none" } }) { id subject { resource { id } } } }';
      const result = await clinic.ask(mutation);
      expect(failures(result)).toEqual(['not-found at ObservationUpdate.subject.resource (1:118)']);
      expect(result.data).toEqual({ ObservationUpdate: { id: 'o', subject: { resource: null } } });
      expect(result.errors![0]!.extensions.details).toEqual({ written: true });
      expect(await clinic.ids('Observation')).toEqual(['o']);
      const whole = await clinic.ask(mutation, {}, { dialect: 'hl7' });
      expect(whole).not.toHaveProperty('data');
      expect(whole.errors![0]!.extensions.details).toEqual({ written: true });
    });
  });

  describe('in dialect hl7', () => {
    test('absent values are omitted, and all fields with the same key are executed', async () => {
      const clinic = await openClinic(open());
      const result = await clinic.ask(
        `mutation {
          PatientUpdate(id: p, res: { active: true }) { id active gender }
          PatientUpdate(id: p, res: { active: false }) { id active gender }
          PatientDelete(id: p)
        }`,
        {},
        { dialect: 'hl7' },
      );
      expect(result).toEqual({
        data: {
          PatientUpdate: [
            { id: 'p', active: true },
            { id: 'p', active: false },
          ],
        },
      });
    });

    test('a failed field fails the request, and nothing is written', async () => {
      const clinic = await openClinic(open());
      const result = await clinic.ask(
        'mutation { a: PatientUpdate(id: p, res: {}) { id } b: PatientDelete(id: never) }',
        {},
        { dialect: 'hl7' },
      );
      expect(result).not.toHaveProperty('data');
      expect(failures(result)).toEqual(['not-found at b (1:52)']);
      expect(await clinic.ids('Patient')).toEqual([]);
    });
  });

  describe('a read-only request can never write', () => {
    test.each([
      'query { PatientCreate(res: {}) { id } }',
      '{ PatientDelete(id: "p") { id } }',
      'query { ... on Mutation { PatientDelete(id: "p") { id } } }',
      'query { ...W } fragment W on Mutation { PatientDelete(id: "p") { id } }',
      '{ Patient(id: "p") { PatientDelete(id: "p") { id } } }',
      'mutation M { PatientDelete(id: "p") { Patient(id: "p") { id } } }',
      'mutation M { Patient(id: "p") { id } }',
      'subscription { PatientDelete(id: "p") { id } }',
    ])('%s', async (query) => {
      const clinic = await openClinic(open());
      await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
      for (const dialect of ['standard', 'hl7'] as const) {
        const result = await clinic.ask(query, {}, { dialect });
        expect(result).not.toHaveProperty('data');
        expect(result.errors!.length).toBeGreaterThan(0);
      }
      expect(await clinic.ids('Patient')).toEqual(['p']);
    });

    test('an operation that is not named is not executed', async () => {
      const clinic = await openClinic(open());
      const document = 'query Q { PatientList { id } } mutation M { PatientUpdate(id: p, res: {}) { id } }';
      expect(await clinic.data(document, {}, { operationName: 'Q' })).toEqual({ PatientList: [] });
      expect(await clinic.data(document, {}, { operationName: 'M' })).toEqual({ PatientUpdate: { id: 'p' } });
    });

    test('an instance in focus, or a request that must not write', async () => {
      const clinic = await openClinic(open());
      await clinic.trusted.update({ resourceType: 'Patient', id: 'p' });
      const mutation = 'mutation { PatientDelete(id: "p") }';
      expect(failures(await clinic.ask(mutation, {}, { focus: 'Patient/p' }))).toEqual(['unsupported']);
      expect(failures(await clinic.ask(mutation, {}, { readonly: true }))).toEqual(['forbidden']);
      expect(await clinic.data('{ Patient(id: p) { id } }', {}, { readonly: true })).toEqual({ Patient: { id: 'p' } });
    });
  });
});
