import { describe, expect, test } from 'vitest';
import {
  createFhirGraphql,
  createRepository,
  executeFhirGraphql,
  importBundle,
  importNdjson,
  initialize,
  MemoryStore,
  type ResourceStore,
  searchMembers,
  signIn,
  systemCaller,
  toHttpResponse,
} from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { maskError } from '../../../src/fhir/error.js';
import { draftAnswer } from '../../../src/http/to-http-response.js';
import { neverPause } from '../../support/never-pause.js';
import { stopClock } from '../../support/stop-clock.js';
import { storeWith } from '../../support/store-with.js';

neverPause();

/** A store whose searches and reads wait until they are released, with the order in which they came. */
function held(inner: ResourceStore = new MemoryStore()) {
  const came: string[] = [];
  const waiting: (() => void)[] = [];
  const hold = async <Result>(name: string, call: () => Promise<Result>): Promise<Result> => {
    came.push(name);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return call();
  };
  const store = storeWith(inner, {
    search: (query, options) => hold(`${query.project}.${query.type}`, () => inner.search(query, options)),
    read: (keys, options) => hold(`${keys[0]?.project}.${keys[0]?.type}`, () => inner.read(keys, options)),
  });
  const release = async (): Promise<void> => {
    waiting.shift()?.();
    await settled();
  };
  /** Releases everything until these requests have ended. */
  const releaseAll = async (all: readonly Promise<unknown>[] = []): Promise<void> => {
    let isOver = false;
    void Promise.allSettled(all).then(() => (isOver = true));
    do await release();
    while (waiting.length > 0 || !isOver);
  };
  return { store, came, waiting, release, releaseAll };
}

/** Everything that needs no further event has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const LIST = '{ PatientList { id } }';

describe('requests with limits of concurrency', () => {
  test('take turns with all other requests of the store: queries, interactions, imports and operations on projects', async () => {
    const inner = new MemoryStore();
    const { caller, project } = await initialize(inner);
    const { store, came, release, releaseAll } = held(inner);
    const context = { store, caller, limits: { concurrency: { total: 1 } } };
    const bundle = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          resource: { resourceType: 'Patient' },
          request: { method: 'POST', url: 'Patient', ifNoneExist: 'active=true' },
        },
      ],
    };
    const ended: string[] = [];
    const all = [
      executeFhirGraphql('{ PractitionerList { id } }', context).then(() => ended.push('query')),
      createRepository(context)
        .search('Encounter')
        .then(() => ended.push('search')),
      importBundle(bundle, context).then(() => ended.push('Bundle')),
      importNdjson('{"resourceType":"Condition","id":"1","subject":{"reference":"Patient/1"}}', context).then(() =>
        ended.push('NDJSON'),
      ),
      searchMembers(project.id, undefined, context).then(() => ended.push('members')),
    ];
    await settled();
    expect(came).toEqual([`${project.id}.Practitioner`]);
    await release();
    expect(came.slice(1)).toEqual([`${project.id}.Encounter`]);
    await releaseAll(all);
    await Promise.all(all);
    expect(new Set(ended)).toEqual(new Set(['query', 'search', 'Bundle', 'NDJSON', 'members']));
  });

  test('count by member and by project, separately for each store', async () => {
    const one = held();
    const other = held();
    const ask = (store: ResourceStore, project: string): Promise<unknown> =>
      executeFhirGraphql(LIST, { store, caller: systemCaller(project), limits: { concurrency: { caller: 2 } } });
    const all = [
      ...['a', 'a', 'a', 'b'].map((project) => ask(one.store, project)),
      ...['a', 'a', 'a'].map((project) => ask(other.store, project)),
    ];
    await settled();
    // Which of the two projects comes first is open.
    expect(one.came.toSorted()).toEqual(['a.Patient', 'a.Patient', 'b.Patient']);
    expect(other.came).toEqual(['a.Patient', 'a.Patient']);
    await Promise.all([one.releaseAll(all), other.releaseAll(all)]);
    await Promise.all(all);
    expect(one.came.length + other.came.length).toBe(7);
  });

  test('count two sign-ins of one member as one caller, and members of a project as several', async () => {
    const inner = new MemoryStore();
    const { membership } = await initialize(inner);
    const [first, second] = [
      await signIn(inner, { membership: membership.id }),
      await signIn(inner, { membership: membership.id }),
    ];
    const { store, came, releaseAll } = held(inner);
    const limits = { concurrency: { caller: 1 } };
    const all = [first, second, systemCaller(first.project)].map((caller) =>
      executeFhirGraphql(LIST, { store, caller, limits }),
    );
    await settled();
    expect(came).toHaveLength(2);
    await releaseAll(all);
    await Promise.all(all);
  });

  test('do not wait for themselves: requests inside a request belong to its turn', async () => {
    const store = new MemoryStore();
    const caller = systemCaller('clinic');
    const limits = { concurrency: { total: 1, project: 1, caller: 1 } };
    const repository = createRepository({ store, caller, limits });
    await repository.update({ resourceType: 'Patient', id: '1' });
    await repository.create({
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'Pulse' },
      subject: { reference: 'https://elsewhere.example/Patient/1' },
    });
    let inner = 0;
    const service = createFhirGraphql({
      store,
      limits,
      resolveReference: async () => {
        const { data } = await service.execute('{ Patient(id: "1") { id } }', { caller });
        const both = await Promise.all([repository.read('Patient', '1'), repository.search('Patient')]);
        inner += both.length;
        return (data as { Patient: { id: string } } | null) && { resourceType: 'Patient', id: 'far' };
      },
    });
    const query = '{ ObservationList { subject { resource { id } } } }';
    const results = await Promise.all([1, 2, 3].map(() => service.execute(query, { caller })));
    for (const { data, errors } of results) {
      expect(errors).toBeUndefined();
      expect(data).toEqual({ ObservationList: [{ subject: { resource: { id: 'far' } } }] });
    }
    expect(inner).toBe(6);
  });

  test('that begin inside a request and outlive it wait like others', async () => {
    const { store, came, release, releaseAll } = held();
    const caller = systemCaller('clinic');
    const limits = { concurrency: { total: 1 } };
    let late: Promise<unknown> | undefined;
    const begin = Promise.withResolvers<undefined>();
    const first = executeFhirGraphql(LIST, {
      store,
      caller,
      limits,
      audit: () => {
        late = begin.promise.then(() => executeFhirGraphql('{ EncounterList { id } }', { store, caller, limits }));
      },
    });
    await settled();
    await release();
    await first;
    const second = executeFhirGraphql(LIST, { store, caller, limits });
    await settled();
    begin.resolve(undefined);
    await settled();
    expect(came).toEqual(['clinic.Patient', 'clinic.Patient']);
    await releaseAll();
    await Promise.all([second, late]);
    expect(came.at(-1)).toBe('clinic.Encounter');
  });

  test('leave the queue when they are aborted, and free their turn when they fail', async () => {
    const { store, came, release, releaseAll } = held();
    const caller = systemCaller('clinic');
    const limits = { concurrency: { total: 1, queue: 2 } };
    const controller = new AbortController();
    const first = executeFhirGraphql(LIST, { store, caller, limits });
    const aborted = executeFhirGraphql(LIST, { store, caller, limits, signal: controller.signal });
    await settled();
    controller.abort();
    expect((await aborted).errors![0]!.extensions.code).toBe('aborted');
    // Its place is free again.
    const failing = executeFhirGraphql('{ Nonsense }', { store, caller, limits });
    await release();
    await first;
    expect((await failing).errors![0]!.extensions.code).toBe('invalid');
    const last = executeFhirGraphql(LIST, { store, caller, limits });
    await settled();
    await releaseAll();
    expect((await last).errors).toBeUndefined();
    expect(came).toHaveLength(2);
  });

  test('are throttled beyond the queue, with 429 and Retry-After over HTTP', async () => {
    const { store, releaseAll } = held();
    const caller = systemCaller('clinic');
    const limits = { concurrency: { total: 1, queue: 2 } };
    const ask = () => executeFhirGraphql(LIST, { store, caller, limits });
    const all = [ask(), ask()];
    await settled();
    const refused = await ask();
    expect(refused).not.toHaveProperty('data');
    expect(refused.errors![0]!.extensions).toMatchObject({
      code: 'throttled',
      details: { limit: 'concurrency', max: 1, retryAfter: 1 },
      resource: { issue: [{ code: 'throttled' }] },
    });
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const { status, headers } = toHttpResponse(refused, { request: { headers: { accept } } });
      expect([status, headers['retry-after']]).toEqual([429, '1']);
    }
    const draft = draftAnswer(refused, 'application/graphql-response+json');
    expect([draft.status, draft.headers['retry-after']]).toEqual([429, '1']);
    const error = await createRepository({ store, caller, limits })
      .search('Patient')
      .catch((reason: unknown) => maskError(reason));
    expect(toHttpResponse(error)).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    await releaseAll(all);
    await Promise.all(all);
  });

  test('wait at most for their timeout, which includes the wait', async () => {
    const { store, came, releaseAll } = held();
    const caller = systemCaller('clinic');
    const concurrency = { total: 1 };
    const first = executeFhirGraphql(LIST, { store, caller, limits: { concurrency } });
    await settled();
    const clock = stopClock();
    const limits = { concurrency, timeout: 5 };
    const query = executeFhirGraphql(LIST, { store, caller, limits });
    const search = expect(createRepository({ store, caller, limits }).search('Patient')).rejects.toMatchObject({
      code: 'throttled',
    });
    await settled();
    await clock.pass(5);
    expect((await query).errors![0]!.extensions).toMatchObject({ code: 'throttled', details: { max: 5 } });
    await search;
    expect(came).toHaveLength(1);
    await releaseAll();
    await first;
  });

  test('invalid callers are refused without a wait', async () => {
    const { store, releaseAll } = held();
    const limits = { concurrency: { total: 1 } };
    const first = executeFhirGraphql(LIST, { store, caller: systemCaller('clinic'), limits });
    await settled();
    const forged = { kind: 'system', project: 'clinic' } as never;
    const refused = await executeFhirGraphql(LIST, { store, caller: forged, limits });
    expect(refused.errors![0]!.extensions.code).toBe('unauthenticated');
    await releaseAll();
    await first;
  });

  test.each([{ concurrency: { all: 1 } }, { concurrency: 3 }])('of %o are refused', async (limits: object) => {
    const store = new MemoryStore();
    const result = await executeFhirGraphql(LIST, { store, caller: systemCaller('clinic'), limits });
    expect(result.errors![0]!.extensions.code).toBe('invalid');
    expect(() => createFhirGraphql({ store, limits })).toThrow();
    await expect(
      createRepository({ store, caller: systemCaller('clinic'), limits }).search('Patient'),
    ).rejects.toMatchObject({
      code: 'invalid',
    });
  });
});

test('a greedy project over SQLite does not delay twenty modest projects', async () => {
  const store = new SqliteStore(':memory:');
  const projects = ['greedy', ...Array.from({ length: 20 }, (_, index) => `m${index}`)];
  for (const project of projects) {
    await createRepository({ store, caller: systemCaller(project) }).create({ resourceType: 'Patient', active: true });
  }
  const limits = { concurrency: { total: 2, project: 1, queue: 200 } };
  // The query is known from then on.
  await executeFhirGraphql(LIST, { store, caller: systemCaller('greedy') });
  const gate = Promise.withResolvers<undefined>();
  const held = storeWith(store, { search: (...call) => gate.promise.then(() => store.search(...call)) });
  const order: string[] = [];
  const ask = (project: string): Promise<unknown> =>
    executeFhirGraphql(LIST, { store: held, caller: systemCaller(project), limits }).then(() => order.push(project));
  // A hundred requests of the greedy project came first.
  const all = Array.from({ length: 100 }, () => ask('greedy'));
  for (const project of projects.slice(1)) all.push(ask(project));
  // However slow the machine is, no request has ended before all of them are in the queue.
  await settled();
  gate.resolve(undefined);
  await Promise.all(all);
  const lastModest = Math.max(...projects.slice(1).map((project) => order.indexOf(project)));
  expect(order).toHaveLength(120);
  // Every second turn belongs to the modest projects: twenty of them, and about as many of the greedy project.
  expect(lastModest).toBeLessThan(2 * 20 + 2);
  await store.close();
});
