import Database from 'better-sqlite3';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { explainAccess } from '../../src/access.js';
import {
  createClient,
  createProject,
  createRepository,
  DEFAULT_LIMITS,
  executeFhirGraphql,
  explainFhirGraphql,
  type FhirError,
  importBundle,
  importNdjson,
  initialize,
  invite,
  listMemberships,
  listProjects,
  MemoryStore,
  removeMember,
  type ResourceStore,
  revokeSessions,
  rotateClientSecret,
  searchMembers,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
  verifyClientSecret,
  whoAmI,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import type { CallOptions } from '../../src/store.js';
import { keyOf, put, putAll, resourceOf } from '../support/kit.js';
import { callTimedOut } from '../../src/store/guards.js';
import { stopClock } from '../support/stop-clock.js';

interface SeenCall {
  readonly method: string;
  readonly options: CallOptions | undefined;
}

/** A store that notes the options of each call. */
function noting(store: ResourceStore): { readonly store: ResourceStore; readonly calls: SeenCall[] } {
  const calls: SeenCall[] = [];
  const note = (method: string, options: CallOptions | undefined): CallOptions | undefined => {
    calls.push({ method, options: options && { ...options } });
    return options;
  };
  return {
    calls,
    store: {
      model: store.model,
      read: (keys, options) => store.read(keys, note('read', options)),
      search: (query, options) => store.search(query, note('search', options)),
      searchByReference: (query, parameter, targets, options) =>
        store.searchByReference(query, parameter, targets, note('searchByReference', options)),
      commit: (writes, options) => store.commit(writes, note('commit', options)),
      history: (key, page, options) => store.history(key, page, note('history', options)),
      explain: (call, options) => {
        note('explain', options);
        return Promise.resolve([{ statement: call.kind, plan: [] }]);
      },
      pendingParameters: (_, options) => {
        note('pendingParameters', options);
        return Promise.resolve([]);
      },
      close: () => store.close(),
    },
  };
}

describe('every call of an operation has its deadline', () => {
  const limits = { timeout: 60_000 };
  const person = {
    resourceType: 'Practitioner',
    firstName: 'Ann',
    lastName: 'Kulas',
    email: 'ann@example.org',
  } as const;

  async function clinic() {
    const seen = noting(new MemoryStore());
    const first = await initialize(seen.store);
    const admin = { store: seen.store, caller: first.caller, limits };
    const project = first.project.id;
    const { membership } = await invite(project, person, admin);
    const { client, secret } = await createClient(project, { name: 'Feed' }, admin);
    const context = { store: seen.store, caller: systemCaller(project), limits };
    const repository = createRepository(context);
    const patient = await repository.create({ resourceType: 'Patient', active: true, identifier: [{ value: '1' }] });
    await repository.create({
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'Pulse' },
      subject: { reference: `Patient/${patient.id}` },
    });
    return { ...seen, first, admin, project, membership, client, secret, context, repository, patient };
  }
  type Clinic = Awaited<ReturnType<typeof clinic>>;
  // Secrets take a tenth of a second to hash, so one clinic serves all tests.
  const opened = clinic();

  test.each<readonly [string, (clinic: Clinic) => Promise<unknown>, string]>([
    ['sign-in', ({ store, membership }) => signIn(store, { membership: membership.id }, { limits }), 'read'],
    [
      'list of memberships',
      ({ store, membership }) => listMemberships({ user: membership.user.reference! }, { store, limits }),
      'search',
    ],
    ['identity of a caller', ({ store, first }) => whoAmI(first.caller, { store, limits }), 'read'],
    ['list of projects', ({ store }) => listProjects('', { store, caller: serverCaller(), limits }), 'search'],
    ['end of sessions', ({ membership, admin }) => revokeSessions({ membership: membership.id }, admin), 'commit'],
    ['invite', ({ project, admin }) => invite(project, { ...person, email: 'bo@example.org' }, admin), 'commit'],
    [
      'search for members',
      ({ project, admin }) => searchMembers(project, { name: 'Ann', email: 'ann@example.org' }, admin),
      'search',
    ],
    ['update of a member', ({ membership, admin }) => updateMember(membership.id, { admin: true }, admin), 'commit'],
    ['removal of a member', ({ membership, admin }) => removeMember(membership.id, admin), 'commit'],
    ['creation of a project', ({ admin }) => createProject({ resourceType: 'Project', name: 'Ward' }, admin), 'commit'],
    [
      'rotation of a secret',
      ({ project, client, admin }) => rotateClientSecret({ project, client: client.id }, admin),
      'commit',
    ],
    [
      'verification of a secret',
      ({ project, client, secret, store }) =>
        verifyClientSecret({ project, client: client.id, secret }, { store, limits }),
      'read',
    ],
    [
      'explanation of access',
      ({ first, context }) => explainAccess({ type: 'Patient', id: 'x', of: first.caller }, context),
      'read',
    ],
    [
      'conditional create',
      ({ repository }) => repository.create({ resourceType: 'Patient' }, { ifNoneExist: 'identifier=2' }),
      'commit',
    ],
    [
      'patch',
      ({ repository, patient }) =>
        repository.patch('Patient', patient.id, [{ op: 'replace', path: '/active', value: false }]),
      'commit',
    ],
    ['deletion', ({ repository, patient }) => repository.delete('Patient', patient.id), 'commit'],
    [
      'search',
      ({ repository }) =>
        repository.search('Patient', '_include=*&active=true').catch(() => repository.search('Patient', 'active=true')),
      'search',
    ],
    ['history', ({ repository, patient }) => repository.history('Patient', patient.id), 'history'],
    [
      'transaction',
      ({ repository }) =>
        repository.transaction({
          resourceType: 'Bundle',
          type: 'transaction',
          entry: [{ resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } }],
        }),
      'commit',
    ],
    [
      'import of a Bundle',
      ({ context }) =>
        importBundle(
          {
            resourceType: 'Bundle',
            type: 'batch',
            entry: [{ resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } }],
          },
          context,
        ),
      'commit',
    ],
    ['import of NDJSON', ({ context }) => importNdjson('{"resourceType":"Patient","id":"n1"}', context), 'commit'],
    [
      'query with reverse lists',
      ({ context }) =>
        executeFhirGraphql(
          '{ PatientList { ObservationList(_reference: subject) { subject { resource { id } } } } }',
          context,
        ),
      'searchByReference',
    ],
    [
      'mutation',
      ({ context }) =>
        executeFhirGraphql('mutation { PatientCreate(res: {}, ifNoneExist: "identifier=3") { id } }', context),
      'commit',
    ],
    [
      'mutation of policies',
      ({ admin }) =>
        executeFhirGraphql(
          'mutation { AccessPolicyCreate(res: { resource: [{ resourceType: "Patient" }] }) { id } }',
          admin,
        ),
      'commit',
    ],
    ['explanation of a query', ({ context }) => explainFhirGraphql('{ PatientList { id } }', context), 'explain'],
  ])('%s', async (_, operation, method) => {
    const on = await opened;
    on.calls.length = 0;
    await operation(on);
    expect(on.calls.map((call) => call.method)).toContain(method);
    expect(on.calls.filter(({ options }) => options?.deadline === undefined)).toEqual([]);
  });

  test('nothing ends an operation on a project after its commit', async () => {
    const { calls, project, admin } = await opened;
    calls.length = 0;
    const host = new AbortController();
    const context = { ...admin, signal: host.signal, mailer: { send: () => Promise.resolve() } };
    const { email } = await invite(project, { ...person, email: 'cy@example.org' }, context);
    expect(email.status).toBe('sent');
    const written = calls.findLastIndex(({ method }) => method === 'commit');
    expect(calls.slice(0, written + 1).every(({ options }) => options?.signal !== undefined)).toBe(true);
    const later = calls.slice(written + 1).map(({ options }) => [options?.signal, options?.deadline]);
    expect(new Set(later.flat())).toEqual(new Set([undefined]));
  });

  test('without a limit there is no deadline, and GraphQL has its own', async () => {
    const { calls, store, context } = await opened;
    calls.length = 0;
    await createRepository({ ...context, limits: undefined }).search('Patient');
    expect(calls.map(({ options }) => options?.deadline)).toEqual([undefined]);
    calls.length = 0;
    stopClock();
    await executeFhirGraphql('{ PatientList { id } }', { store, caller: context.caller });
    expect(calls[0]!.options!.deadline).toBe(performance.now() + DEFAULT_LIMITS.timeout);
  });
});

describe('an operation that exceeds its deadline', () => {
  const unknownOf = ({ details }: FhirError): unknown => details?.['unknown'];

  function endingAt(method: 'search' | 'commit', details: object = {}): ResourceStore {
    const store = new MemoryStore();
    const end = (): Promise<never> => Promise.reject(callTimedOut().with({ details: { ...details } }));
    return Object.assign(store, { [method]: end });
  }

  test('is too costly by its timeout', async () => {
    const context = { store: endingAt('search'), caller: serverCaller('clinic'), limits: { timeout: 600_000 } };
    await expect(createRepository(context).search('Patient')).rejects.toMatchObject({
      code: 'too-costly',
      message: 'The call ran longer than 600000 ms: narrow its searches, or write less at once',
      details: { limit: 'timeout', max: 600_000 },
      issues: [{ code: 'too-costly' }],
    });
  });

  test('reports whether its writes can have taken effect', async () => {
    for (const unknown of [undefined, true]) {
      const store = endingAt('commit', unknown === undefined ? {} : { unknown });
      const context = { store, caller: serverCaller('clinic'), limits: { timeout: 600_000 } };
      const error = (await createRepository(context)
        .create({ resourceType: 'Patient' })
        .catch((reason: unknown) => reason)) as FhirError;
      expect([error.code, error.details?.['limit'], unknownOf(error)]).toEqual(['too-costly', 'timeout', unknown]);
    }
  });

  test('ends over a store that supports only signals', async () => {
    const store: ResourceStore = Object.assign(new MemoryStore(), {
      search: (_: unknown, options: CallOptions) =>
        new Promise((_resolve, reject) => {
          options.signal!.addEventListener('abort', () => reject(callTimedOut()));
        }),
    });
    const context = { store, caller: serverCaller('clinic'), limits: { timeout: 5 } };
    const clock = stopClock();
    let hasEnded = false;
    const search = createRepository(context)
      .search('Patient')
      .finally(() => (hasEnded = true));
    const rejection = expect(search).rejects.toMatchObject({ details: { limit: 'timeout', max: 5 } });
    await clock.pass(4);
    expect(hasEnded).toBe(false);
    await clock.pass(1);
    await rejection;
  });

  test.each([0, -1, Number.NaN, '5'])('a timeout of %s is refused', async (timeout) => {
    const context = {
      store: new MemoryStore(),
      caller: serverCaller('clinic'),
      limits: { timeout: timeout as number },
    };
    await expect(createRepository(context).search('Patient')).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('a commit to SQLite', () => {
  test('that exceeds its deadline writes nothing', async () => {
    stopClock();
    let passing = 6;
    // The clock of the store is asked when the transaction has begun.
    const store = new SqliteStore(':memory:', {
      clock: () => {
        vi.advanceTimersByTime(passing);
        passing = 0;
        return new Date();
      },
    });
    const deadline = performance.now() + 5;
    const writes = ['a', 'b'].map((id) => put(resourceOf('Patient', id)));
    await expect(store.commit(writes, { deadline })).rejects.toMatchObject({
      code: 'aborted',
      details: { deadline: true },
    });
    expect(await store.read([keyOf('Patient', 'a'), keyOf('Patient', 'b')])).toEqual([
      { status: 'missing' },
      { status: 'missing' },
    ]);
    await putAll(store, resourceOf('Patient', 'a'));
    await store.close();
  });

  test('waits for the lock of another process until its deadline at most', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-deadline-'));
    const store = new SqliteStore(join(folder, 'clinic.db'), { busyTimeout: 3_600_000 });
    const other = new Database(join(folder, 'clinic.db'));
    other.exec('BEGIN IMMEDIATE');
    const clock = stopClock();
    const commit = store.commit([put(resourceOf('Patient', 'a'))], { deadline: performance.now() + 600_000 });
    const rejection = expect(commit).rejects.toMatchObject({ code: 'aborted', details: { deadline: true } });
    await clock.pass(600_000);
    await rejection;
    clock.start();
    other.exec('ROLLBACK');
    other.close();
    await putAll(store, resourceOf('Patient', 'a'));
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
