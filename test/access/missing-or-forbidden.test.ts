import type { Bundle, Patient } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Caller,
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  MemoryStore,
  type Repository,
  type ResourceStore,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { maskError } from '../../src/fhir/error.js';
import { enrol, type RuleJson } from './policies.js';
import { someOf } from '../support/chance.js';
import { fill, plain } from './world.js';

/** Ids of a hidden resource, of a deleted one, and of one that never existed. Their lengths are equal. */
const [UNSEEN, ERASED, ABSENT] = ['unseen', 'erased', 'absent'] as const;

/** Rules that grant other Patients: by their own elements, by references to them, by their references. */
const RULES: { readonly [kind: string]: RuleJson } = {
  'an element': { resourceType: 'Patient', criteria: 'Patient?gender=female' },
  'an id': { resourceType: 'Patient', criteria: 'Patient?_id=p1' },
  'a chain': { resourceType: 'Patient', criteria: 'Patient?organization.name=North' },
  'a reverse chain': { resourceType: 'Patient', criteria: 'Patient?_has:Observation:subject:status=final' },
  'reading only': { resourceType: 'Patient', criteria: 'Patient?gender=female', readonly: true },
  'an other type': { resourceType: 'Organization' },
};

const STORES: readonly (readonly [string, () => ResourceStore])[] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
];

describe.each(someOf(STORES, 1))('on a %s store', (_, open) => {
  describe.each(Object.entries(RULES))('under a rule by %s', (_, rule) => {
    let store: ResourceStore;
    let caller: Caller;
    let repository: Repository;
    let calls: string[];

    beforeEach(async () => {
      const inner = open();
      await fill(inner, 'alpha', [
        plain({ resourceType: 'Practitioner', id: 'dr1' }),
        plain({ resourceType: 'Organization', id: 'south', name: 'South' }),
        plain({ resourceType: 'Patient', id: 'p1', gender: 'female' }),
        plain({ resourceType: 'Patient', id: UNSEEN, gender: 'male', managingOrganization: { reference: 'Organization/south' } }), // prettier-ignore
      ]);
      await fill(inner, 'alpha', [plain({ resourceType: 'Patient', id: ERASED, gender: 'female' })]);
      await inner.commit([{ kind: 'delete', key: { project: 'alpha', type: 'Patient', id: ERASED } }]);
      const policies = [{ resource: [rule, { resourceType: 'Observation' }] }];
      caller = await enrol(inner, 'alpha', {
        profile: 'Practitioner/dr1',
        policies,
        access: [{ policy: 0, parameters: [] }],
      });
      calls = [];
      store = writtenDown(inner, calls);
      repository = createRepository({ store, caller });
    });

    afterEach(() => store.close());

    const WAYS: { readonly [way: string]: (id: string) => Promise<unknown> } = {
      read: (id) => repository.read('Patient', id),
      vread: (id) => repository.vread('Patient', id, '1'),
      'vread of no version': (id) => repository.vread('Patient', id, '7'),
      history: (id) => repository.history('Patient', id),
      update: (id) => repository.update({ resourceType: 'Patient', id, active: true }),
      'update of a version': (id) => repository.update({ resourceType: 'Patient', id }, { ifMatch: '1' }),
      patch: (id) => repository.patch('Patient', id, [{ op: 'add', path: '/active', value: true }]),
      'patch by a test': (id) => repository.patch('Patient', id, [{ op: 'test', path: '/gender', value: 'male' }]),
      delete: (id) => repository.delete('Patient', id),
      'delete of a version': (id) => repository.delete('Patient', id, { ifMatch: '1' }),
      search: (id) => repository.search('Patient', `_id=${id}&_total=accurate`),
      'search by reference': (id) => repository.search('Observation', `subject=Patient/${id}&_total=accurate`),
      'a conditional creation': (id) =>
        repository.create<Patient>({ resourceType: 'Patient', gender: 'male' }, { ifNoneExist: `_id=${id}` }),
      'a transaction that updates': (id) => importBundle(bundle('PUT', `Patient/${id}`, id), { store, caller }),
      'a transaction that deletes': (id) => importBundle(bundle('DELETE', `Patient/${id}`), { store, caller }),
      'a transaction that reads': (id) => importBundle(bundle('GET', `Patient/${id}`), { store, caller }),
      'a transaction that deletes on a condition': (id) =>
        importBundle(bundle('DELETE', `Patient?_id=${id}`), { store, caller }),
      'a batch': (id) =>
        importBundle({ ...bundle('GET', `Patient/${id}/_history/1`), type: 'batch' }, { store, caller }),
      ...Object.fromEntries(
        Object.entries(CHOSEN_IDS).flatMap(([way, entry]) =>
          (['transaction', 'batch'] as const).map((type) => [
            `${way} in a ${type}`,
            (id: string) => importBundle({ resourceType: 'Bundle', type, entry: [entry(id)] }, { store, caller }),
          ]),
        ),
      ),
      'a repository transaction that chooses the id': (id) =>
        repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry: [CHOSEN_IDS['PUT if none is there']!(id)] } as never), // prettier-ignore
      'NDJSON that chooses the id': (id) =>
        importNdjson([JSON.stringify({ resourceType: 'Patient', id, gender: 'female' })], { store, caller }),
      query: (id) => ask(`{ Patient(id: "${id}") { id } }`),
      'query of a list': (id) => ask(`{ PatientList(_id: "${id}") { id } }`),
      'query about an instance': (id) => ask('{ id }', id),
      mutation: (id) => ask(`mutation { PatientUpdate(id: "${id}", res: { id: "${id}" }) { id } }`),
      'mutation that patches': (id) =>
        ask(`mutation { PatientPatch(id: "${id}", patch: [{ op: "remove", path: "/gender" }]) { id } }`),
      'mutation that deletes': (id) => ask(`mutation { PatientDelete(id: "${id}") { id } }`),
    };

    test.each(Object.keys(WAYS))('%s gives the same answer, and makes the same store calls', async (way) => {
      const told = async (id: string): Promise<unknown> => {
        calls.length = 0;
        const answer = await WAYS[way]!(id).catch((error: unknown) => {
          const { code, message, details, outcome } = maskError(error);
          return { code, message, details, outcome };
        });
        return JSON.parse(withoutChance(JSON.stringify({ answer, calls: [...calls] }), id)) as unknown;
      };
      // The first write caches the settings of the project, which the next writes read.
      await told('earlier');
      const absent = await told(ABSENT);
      expect(await told(UNSEEN)).toEqual(absent);
      expect(await told(ERASED)).toEqual(absent);
      const [erased] = await store.read([{ project: 'alpha', type: 'Patient', id: ERASED }]);
      expect(erased!.status, 'a deleted id stays deleted').toBe('gone');
    });

    async function ask(query: string, focus?: string): Promise<unknown> {
      return executeFhirGraphql(query, { store, caller, focus: focus === undefined ? undefined : `Patient/${focus}` });
    }
  });
});

/** Entries that name the id of a resource to be created. */
const CHOSEN_IDS: { readonly [way: string]: (id: string) => object } = {
  'PUT if none is there': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'female' },
    request: { method: 'PUT', url: `Patient/${id}`, ifNoneMatch: '*' },
  }),
  'PUT if none is there of a refused body': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'male' },
    request: { method: 'PUT', url: `Patient/${id}`, ifNoneMatch: '*' },
  }),
  'PUT on a condition': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'female' },
    request: { method: 'PUT', url: 'Patient?name=nobody' },
  }),
  'PUT on a condition of a refused body': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'male' },
    request: { method: 'PUT', url: 'Patient?name=nobody' },
  }),
  'PUT on a condition, named by fullUrl': (id) => ({
    fullUrl: `https://example.org/Patient/${id}`,
    resource: { resourceType: 'Patient', gender: 'female' },
    request: { method: 'PUT', url: 'Patient?name=nobody' },
  }),
  'POST with an id': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'female' },
    request: { method: 'POST', url: 'Patient' },
  }),
  'POST on a condition with an id': (id) => ({
    resource: { resourceType: 'Patient', id, gender: 'female' },
    request: { method: 'POST', url: 'Patient', ifNoneExist: 'name=nobody' },
  }),
};

/** The requested id and generated ids are removed. */
function withoutChance(text: string, id: string): string {
  return text
    .replaceAll(id, 'ID')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'NOW')
    .replace(/(?<=deadline\\*":)[\d.]+/g, '0');
}

function bundle(method: string, url: string, id?: string): Bundle {
  const resource = id === undefined ? undefined : { resourceType: 'Patient', id };
  return { resourceType: 'Bundle', type: 'transaction', entry: [{ resource, request: { method, url } }] } as Bundle;
}

/** The store, with a record of every call: its arguments, and the number of results. */
function writtenDown(store: ResourceStore, calls: string[]): ResourceStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        calls.push(`${String(name)} ${JSON.stringify(given.map((one) => (one instanceof AbortSignal ? null : one)))}`);
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
}
