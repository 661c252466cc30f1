import { describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  createBot,
  createProject,
  createRepository,
  executeFhirGraphql,
  FhirError,
  importBundle,
  importNdjson,
  initialize,
  invite,
  MemoryStore,
  removeMember,
  type ResourceStore,
  toAuditEvent,
  toHttpResponse,
  updateMember,
} from '../../src/index.js';
import { inDoubt } from '../../src/store.js';
import { maskError } from '../../src/fhir/error.js';
import { type Clinic, contents, openClinic, patient, person, put, rejection } from './harness.js';

type Operation = (store: ResourceStore, clinic: Clinic & { readonly second: string }) => Promise<unknown>;

const entry = (method: string, url: string, resource?: object): object => ({ request: { method, url }, resource });
const bundle = (type: 'batch' | 'transaction', ...entries: object[]): never =>
  ({ resourceType: 'Bundle', type, entry: entries }) as never;
/** The second entry is refused, so that the valid entries are written in several commits. */
const MIXED = [
  entry('PUT', 'Patient/m1', patient('m1')),
  entry('PUT', 'Patient/a', { ...patient('a'), active: true }),
  { ...entry('PUT', 'Patient/b', patient('b')), request: { method: 'PUT', url: 'Patient/b', ifMatch: 'W/"9"' } },
  entry('POST', 'Patient', { resourceType: 'Patient', gender: 'male' }),
  entry('GET', 'Patient/a'),
];
const LINES = ['n1', 'a', 'n2', 'n3', 'n4'].map((id) => JSON.stringify({ ...patient(id), active: true })).join('\n');

/** Everything that writes. */
const OPERATIONS: readonly (readonly [string, Operation])[] = [
  ['create', (store, { admin }) => createRepository({ store, caller: admin }).create({ resourceType: 'Patient' })],
  [
    'update',
    (store, { admin }) => createRepository({ store, caller: admin }).update({ ...patient('a'), active: true } as never),
  ],
  [
    'patch',
    (store, { admin }) =>
      createRepository({ store, caller: admin }).patch('Patient', 'a', [{ op: 'add', path: '/active', value: true }]),
  ],
  ['delete', (store, { admin }) => createRepository({ store, caller: admin }).delete('Patient', 'a')],
  [
    'transaction',
    (store, { admin }) =>
      createRepository({ store, caller: admin }).transaction(bundle('transaction', MIXED[0]!, MIXED[1]!, MIXED[3]!)),
  ],
  ['batch', (store, { admin: caller }) => importBundle(bundle('batch', ...MIXED), { store, caller })],
  ['importNdjson', (store, { admin: caller }) => importNdjson(LINES, { store, caller, batchLines: 2 })],
  ['invite', (store, { project, admin: caller }) => invite(project, person('Practitioner', 'Bob'), { store, caller })],
  [
    'createProject',
    (store, { superAdmin: caller }) => createProject({ resourceType: 'Project', name: 'Ward' }, { store, caller }),
  ],
  ['createBot', (store, { project, admin: caller }) => createBot(project, { name: 'Feed' }, { store, caller })],
  ['updateMember', (store, { admin: caller, second }) => updateMember(second, { externalId: 'x' }, { store, caller })],
  ['removeMember', (store, { admin: caller, second }) => removeMember(second, { store, caller })],
  [
    'a mutation',
    async (store, { admin: caller }) => {
      const query = `mutation { a: PatientCreate(res: { active: true }) { id managingOrganization { resource { id } } }
        b: PatientUpdate(id: "a", res: { active: true }) { id } }`;
      const { errors } = await executeFhirGraphql(query, { store, caller });
      if (errors !== undefined) throw new FhirError('internal', 'failed', { details: errors[0]!.extensions.details! });
    },
  ],
];

describe.each(OPERATIONS)('%s', (_, operation) => {
  test.each(['fails before it does anything', 'loses its answer'] as const)(
    'on a store whose call number 1, 2, … %s: an error without doubt has changed nothing',
    async (manner) => {
      let doubts = 0;
      for (let failing = 1; ; failing += 1) {
        const empty = await openClinic(new MemoryStore());
        const member = await invite(empty.project, person('Practitioner', 'Cy'), { ...empty, caller: empty.admin });
        const clinic = { ...empty, second: member.membership.id };
        await put(clinic.store, clinic.project, patient('a'), patient('b'));
        const before = await contents(clinic.store, clinic.project);
        const { store, calls, lost } = failingAt(clinic.store, failing, manner);
        const failure = await operation(store, clinic).then(
          () => undefined,
          (error: unknown) => maskError(error),
        );
        const changed = !same(before, await contents(clinic.store, clinic.project));
        if (calls() < failing) break;
        const told = failure?.details?.['unknown'] === true || failure?.details?.['written'] === true;
        // A commit with a lost answer can have changed nothing; the result is unknown then, too.
        if (failure !== undefined) expect([failing, told]).toEqual([failing, changed || lost()]);
        if (told) doubts += 1;
      }
      if (manner === 'loses its answer') expect(doubts).toBeGreaterThan(0);
    },
  );
});

test('initialize names the resources that it may have created, so that a lost secret can be replaced', async () => {
  const store = new MemoryStore();
  const commit = store.commit.bind(store);
  store.commit = async (...args) => {
    await commit(...args);
    throw inDoubt(new FhirError('unavailable', 'lost'));
  };
  const { code, details } = await rejection(initialize(store));
  expect(code).toBe('unavailable');
  expect(details?.['unknown']).toBe(true);
  const [project, client] = [details?.['project'], details?.['client']] as [string, string];
  const all = [...(await contents(store, project.split('/')[1]!)).keys()];
  expect(all).toEqual(expect.arrayContaining([expect.stringMatching(project), expect.stringMatching(client)]));
});

test('an error in doubt is marked in details, in the OperationOutcome, over HTTP and in the audit trail', async () => {
  const { store, admin: caller } = await openClinic(new MemoryStore());
  const records: AuditRecord[] = [];
  const audit = (record: AuditRecord): void => void records.push(record);
  store.commit = () => Promise.reject(inDoubt(new FhirError('unavailable', 'The connection was lost')));
  const message = 'The connection was lost; whether it was written is not known';
  const error = await rejection(createRepository({ store, caller, audit }).create({ resourceType: 'Patient' }));
  expect(error.toJSON()).toEqual({ code: 'unavailable', message, details: { unknown: true } });
  const outcome = {
    resourceType: 'OperationOutcome',
    issue: [
      {
        severity: 'error',
        code: 'transient',
        details: { coding: [{ system: 'urn:fhirgraph:write', code: 'unknown' }], text: message },
      },
    ],
  };
  expect(JSON.parse(toHttpResponse(error).body)).toEqual(outcome);
  const mutation = 'mutation { PatientCreate(res: {}) { id } }';
  const result = await executeFhirGraphql(mutation, { store, caller, audit });
  expect(result.errors).toEqual([
    { message, extensions: { code: 'unavailable', details: { unknown: true }, resource: outcome } },
  ]);
  expect(records.map((record) => record.outcome)).toEqual(
    records.map(() => ({ success: false, code: 'unavailable', unknown: true })),
  );
  expect(records.map((record) => toAuditEvent(record).outcomeDesc)).toEqual([
    'unavailable, unknown',
    'unavailable, unknown',
  ]);
});

/** A store whose call number `failing` fails, counted over all methods that ask for something. */
function failingAt(
  store: ResourceStore,
  failing: number,
  manner: 'fails before it does anything' | 'loses its answer',
): { readonly store: ResourceStore; readonly calls: () => number; readonly lost: () => boolean } {
  let calls = 0;
  let lost = false;
  const wrapped = new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...values: unknown[]): Promise<unknown> => {
        calls += 1;
        if (calls !== failing) return Reflect.apply(member, target, values) as unknown;
        const error = new FhirError('unavailable', 'out of order');
        if (name !== 'commit' || manner === 'fails before it does anything') throw error;
        await (Reflect.apply(member, target, values) as Promise<unknown>);
        lost = true;
        throw inDoubt(error);
      };
    },
  });
  return { store: wrapped, calls: () => calls, lost: () => lost };
}

function same(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, text]) => other.get(key) === text);
}
