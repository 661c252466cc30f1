import { describe, expect, test } from 'vitest';
import { AccessTrace } from '../../src/access/access-trace.js';
import {
  type AnyResource,
  AUDIT_LOG_PROJECT,
  breakGlass,
  type Caller,
  MemoryStore,
  type ResourceStore,
  serverCaller,
  systemCaller,
} from '../../src/index.js';
import { type CallOptions, R4 } from '../../src/store.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { faultOf, repositoryOf, signedIn, system, type Membership } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';
import { put } from './decisions.js';

const clinic = systemCaller('clinic');

function observation(id: string, patient: string): GuardedWrite {
  const subject = { reference: `Patient/${patient}` };
  return put({ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject } as AnyResource);
}

const deletion = (type: string, id: string): GuardedWrite => ({ kind: 'delete', key: { type, id } });

/** A store, and the reads that it is asked for. */
async function open(membership: Membership = {}) {
  const store = new MemoryStore();
  await system(store);
  const caller = await signedIn(store, membership);
  const reads: (readonly string[])[] = [];
  const given: (CallOptions | undefined)[] = [];
  const counted = storeWith(store, {
    read(keys, options) {
      reads.push(keys.map(({ type, id }) => `${type}/${id}`));
      given.push(options);
      return store.read(keys, options);
    },
  });
  return { store, caller, counted, reads, given };
}

async function traced(store: ResourceStore, caller: Caller, writes: readonly GuardedWrite[], options?: CallOptions) {
  const trace = new AccessTrace(R4);
  const results = await guardStore(store, caller, { trace }).commit(writes, options);
  return { trace, results, patients: (await trace.facts()).patients?.ids.toSorted() };
}

describe('the trace of a commit', () => {
  test('has the patients of written, replaced and deleted resources', async () => {
    const { store } = await open();
    expect((await traced(store, clinic, [observation('o', 'ann'), observation('p', 'bob')])).patients).toEqual([
      'ann',
      'bob',
    ]);
    expect((await traced(store, clinic, [observation('o', 'cid')])).patients).toEqual(['ann', 'cid']);
    expect((await traced(store, clinic, [deletion('Observation', 'p')])).patients).toEqual(['bob']);
    expect((await traced(store, clinic, [put({ resourceType: 'Patient', id: 'dan' })])).patients).toEqual(['dan']);
    const gone = [deletion('Patient', 'dan')];
    expect((await traced(store, clinic, gone)).patients).toEqual(['dan']);
    expect((await traced(store, clinic, gone)).patients).toBeUndefined();
    expect((await traced(store, clinic, [put({ resourceType: 'Device', id: 'd' })])).patients).toBeUndefined();
  });

  test('has the patients inside a Bundle', async () => {
    const { store } = await open();
    const bundle = (...ids: readonly string[]): GuardedWrite =>
      put({
        resourceType: 'Bundle',
        id: 'b',
        type: 'collection',
        entry: ids.map((id) => ({ resource: { resourceType: 'Patient', id } })),
      } as AnyResource);
    expect((await traced(store, clinic, [bundle('ann')])).patients).toEqual(['ann']);
    expect((await traced(store, clinic, [bundle('bob')])).patients).toEqual(['ann', 'bob']);
  });

  test('reads the replaced version only if it can have patients, and only on request', async () => {
    const { counted, reads, given } = await open();
    await traced(counted, clinic, [observation('o', 'ann')]);
    const last = async (...writes: readonly GuardedWrite[]): Promise<unknown> => {
      reads.length = 0;
      await traced(counted, clinic, writes);
      return reads.at(-1);
    };
    const check: GuardedWrite = {
      kind: 'assert-no-match',
      query: { type: 'Observation', criteria: { kind: 'id', ids: ['nobody'] } },
    };
    expect(await last(check, observation('o', 'bob'), put({ resourceType: 'Patient', id: 'p' }))).toEqual([
      'Observation/o',
    ]);
    const device = put({ resourceType: 'Device', id: 'd' });
    reads.length = 0;
    await guardStore(counted, clinic).commit([device]);
    const untraced = reads.length;
    await last(device);
    expect(reads).toHaveLength(untraced);
    reads.length = 0;
    await guardStore(counted, clinic).commit([observation('o', 'cid')]);
    expect(reads).toHaveLength(untraced);
    await last(observation('o', 'dan'));
    expect(reads).toHaveLength(untraced + 1);
    const creation = (id: string): GuardedWrite => ({ ...observation(id, 'ann'), expect: { version: null } }) as never;
    reads.length = 0;
    await guardStore(counted, clinic).commit([creation('new')]);
    const creating = reads.length;
    await last(creation('newer'));
    expect(reads).toHaveLength(creating);
    given.length = 0;
    const options = { signal: new AbortController().signal, deadline: performance.now() + 60_000 };
    await traced(counted, clinic, [observation('o', 'ann')], options);
    expect(given.at(-1)).toEqual(options);
    await traced(counted, clinic, [observation('o', 'ann')]);
    expect(given.at(-1)).toBeUndefined();
  });

  test('has the resource behind an answer with hidden fields', async () => {
    const { store, caller } = await open({ rules: [{ resourceType: 'Observation', hiddenFields: ['subject'] }] });
    await traced(store, clinic, [observation('o', 'ann')]);
    const found = await guardStore(store, caller).read([{ type: 'Observation', id: 'o' }]);
    const shown = found[0]?.status === 'found' ? found[0].resource : undefined;
    const { trace, results } = await traced(store, caller, [put({ ...shown, language: 'en' } as AnyResource)]);
    const answer = results[0]?.kind === 'put' ? results[0].resource : undefined;
    expect(answer).not.toHaveProperty('subject');
    expect(trace.origins.get(answer!)).toMatchObject({ subject: { reference: 'Patient/ann' } });
    const plain = await traced(store, clinic, [put({ resourceType: 'Device', id: 'd' })]);
    const device = plain.results[0]?.kind === 'put' ? plain.results[0].resource : undefined;
    expect(plain.trace.origins.get(device!)).toBeUndefined();
  });
});

test('nobody writes to the audit log, not even trusted code', async () => {
  const store = new MemoryStore();
  const check: GuardedWrite = { kind: 'assert-no-match', query: { type: 'Patient', criteria: { kind: 'all' } } };
  const event = put({ resourceType: 'AuditEvent', id: 'e' });
  const fault = async (project: string | undefined, ...writes: readonly GuardedWrite[]): Promise<unknown> => {
    const { code, message, details } = await faultOf(guardStore(store, serverCaller(project)).commit(writes));
    return [code, message, details?.index];
  };
  const refused = (index: number): unknown => ['forbidden', 'The audit log cannot be changed', index];
  expect(await fault(AUDIT_LOG_PROJECT, check, event)).toEqual(refused(1));
  expect(await fault(AUDIT_LOG_PROJECT, deletion('AuditEvent', 'e'))).toEqual(refused(0));
  expect(await fault(undefined, put({ resourceType: 'Project', id: AUDIT_LOG_PROJECT }))).toEqual(refused(0));
  await system(store);
  expect(await guardStore(store, clinic).commit([event])).toHaveLength(1);
});

test('emergency access that ends while a write is decided writes nothing', async () => {
  const { store, caller } = await open({ rules: [{ resourceType: 'Observation' }] });
  const trusted = repositoryOf(store, serverCaller('clinic'));
  const { access } = await trusted.read('ProjectMembership', caller.membership);
  const policy = await trusted.read('AccessPolicy', access![0]!.policy.reference!.split('/')[1]!);
  const extension = [{ url: OWN_EXTENSIONS.emergencyAccess, valueBoolean: true }];
  await trusted.update({ ...policy, extension } as never);
  const time = { now: Date.parse('2030-01-01T00:00:00Z') };
  const broken = await breakGlass(caller, {
    ...{ store, reason: 'x', until: '2030-01-01T01:00:00Z', audit: () => undefined, clock: () => new Date(time.now) },
  });
  let ends = Infinity;
  let reads = 0;
  const ending = storeWith(store, {
    async read(keys, options) {
      const found = await store.read(keys, options);
      if (++reads === ends) time.now += 3_600_000;
      return found;
    },
  });
  const write = (patient: string): Promise<unknown> => traced(ending, broken, [observation('o', patient)]);
  await write('ann');
  reads = 0;
  await write('bob');
  // The last read is made after the decision: for the trace.
  ends = reads;
  reads = 0;
  const fault = await faultOf(write('cid'));
  expect([fault.code, fault.message]).toEqual([
    'forbidden',
    'The emergency access has ended; sign in to continue without it',
  ]);
  expect((await repositoryOf(store, clinic).read('Observation', 'o')).meta.versionId).toBe('2');
});
