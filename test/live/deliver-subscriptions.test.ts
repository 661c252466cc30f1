import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bundle, Observation, Parameters, Subscription } from '@medplum/fhirtypes';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AuditRecord,
  createBot,
  createRepository,
  deleteProject,
  deliverSubscriptions,
  type DeliverSubscriptionsOptions,
  eraseResource,
  type FhirError,
  MemoryStore,
  narrowCaller,
  removeMember,
  type Repository,
  type ResourceStore,
  revokeSessions,
  serverCaller,
  signIn,
  type SubscriptionNotification,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { recordKey } from '../../src/access/write/subscription-write.js';
import { type DeliveryState, LEASE, stateIn } from '../../src/subscriptions/delivery-state.js';
import { enrol, type PolicyJson, type RuleJson } from '../access/policies.js';
import { fill, plain } from '../access/world.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { namedStores } from '../support/named-stores.js';
import { storeWith } from '../support/store-with.js';
import { until } from '../support/until.js';

const FOLDER = mkdtempSync(join(tmpdir(), 'deliver-'));

const FINAL: RuleJson = { resourceType: 'Observation', criteria: 'Observation?code=a', hiddenFields: ['note'] };
const RULES: readonly RuleJson[] = [FINAL, { resourceType: 'Subscription' }, { resourceType: 'Bot' }];

let store: ResourceStore;
let system: Repository;
let mine: Repository;
let over: AbortController;
const running: Promise<void>[] = [];

/** Dr. Kim may see Observations of code `a`, without notes. */
async function begin(open: ResourceStore, policies: readonly PolicyJson[] = [{ resource: RULES }]): Promise<void> {
  store = open;
  over = new AbortController();
  system = createRepository({ store, caller: systemCaller('clinic') });
  await fill(store, 'clinic', [plain({ resourceType: 'Practitioner', id: 'dr1' })]);
  await enrol(store, 'clinic', { profile: 'Practitioner/dr1', policies, access: [{ policy: 0, parameters: [] }] });
  mine = createRepository({ store, caller: await signIn(store, { membership: 'member-clinic' }) });
}

async function end(): Promise<void> {
  over.abort();
  await Promise.all(running.splice(0));
  await store.close();
}

/** A host that gets the notifications. */
class Host {
  readonly got: SubscriptionNotification[] = [];
  /** How the host answers; by default it takes everything. */
  answer: (notification: SubscriptionNotification, signal: AbortSignal) => unknown = () => undefined;

  start(more: Partial<DeliverSubscriptionsOptions> = {}): Promise<void> {
    const done = deliverSubscriptions({
      store,
      signal: over.signal,
      retry: { attempts: 3, delay: 1 },
      deliver: async (notification, { signal }) => {
        await this.answer(notification, signal);
        const { type, subscription: name } = notification;
        const last = this.got.at(-1);
        // A handshake may come again before its Subscription is active.
        if (type === 'handshake' && last?.type === type && last.subscription === name) return;
        this.got.push(notification);
      },
      ...more,
    });
    running.push(done);
    return done;
  }

  /** In short: `1 enter o1@2`. */
  get events(): string[] {
    return this.got.flatMap(({ type, bundle }) => (type === 'handshake' ? [] : shortOf(bundle)));
  }

  async untilEvents(count: number): Promise<string[]> {
    await until(() => this.events.length >= count);
    return this.events;
  }
}

const KINDS: { readonly [method: string]: string } = { POST: 'enter', PUT: 'update', DELETE: 'leave' };

function shortOf(bundle: Bundle): string {
  const [status, event] = bundle.entry!;
  const { part } = (status!.resource as Parameters).parameter!.find(({ name }) => name === 'notification-event')!;
  const number = part!.find(({ name }) => name === 'event-number')!.valueString;
  const focus = part!.find(({ name }) => name === 'focus')!.valueReference!.reference!;
  const version = event!.resource?.meta?.versionId;
  const id = focus.replace(/^.*Observation\//, '');
  return `${number} ${KINDS[event!.request!.method]} ${id}${version === undefined ? '' : `@${version}`}`;
}

const observation = (id: string, more: Partial<Observation> = {}): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ code: 'a' }] },
  ...more,
});

const subscription = (more: Partial<Subscription> = {}): Subscription => ({
  resourceType: 'Subscription',
  status: 'requested',
  reason: 'new results',
  criteria: 'Observation?status=final',
  channel: { type: 'rest-hook', endpoint: 'https://app.example/hook', payload: 'application/fhir+json' },
  ...more,
});

const statusOf = async (id: string): Promise<string> => (await system.read('Subscription', id)).status;

/** A Subscription of Dr. Kim that is active. */
async function activated(more: Partial<Subscription> = {}): Promise<string> {
  const { id } = await mine.create(subscription(more));
  await until(async () => (await statusOf(id)) === 'active');
  return id;
}

/** How far the notifications of a Subscription are. */
async function stateOf(id: string): Promise<DeliveryState> {
  const [found] = await store.read([recordKey('Parameters', { project: 'clinic', id })]);
  return stateIn(found);
}

/** Waits for the refusal. */
async function errorOf(id: string): Promise<string | undefined> {
  await until(async () => ['error', 'off'].includes(await statusOf(id)));
  const { status, error } = await system.read('Subscription', id);
  return `${status}: ${error}`;
}

const other = { code: { coding: [{ code: 'b' }] } };

let files = 0;
const STORES = namedStores([
  ['memory', async () => Promise.resolve(new MemoryStore() as ResourceStore)],
  ['SQLite', async () => Promise.resolve(new SqliteStore(join(FOLDER, `${++files}.db`)) as ResourceStore)],
  ['PostgreSQL', async () => new PostgresStore(await postgresPool()) as ResourceStore],
]);

describe.each(STORES)('on a %s store', (_, open) => {
  beforeEach(async () => begin(await open()));
  afterEach(end);

  test('a Subscription is activated after a handshake, and each visible change of a match is an event of its own', async () => {
    const host = new Host();
    void host.start();
    const id = await activated();
    await system.update(observation('o1', other));
    await system.update(observation('o1', { note: [{ text: 'secret' }] }));
    await system.update(observation('o1', { note: [{ text: 'another' }] }));
    await system.update(observation('o2', other));
    await system.update(observation('o1', { issued: '2026-01-01T00:00:00Z' }));
    await system.transaction({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        { resource: observation('o3'), request: { method: 'PUT', url: 'Observation/o3' } },
        { resource: observation('o1', other), request: { method: 'PUT', url: 'Observation/o1' } },
      ],
    });
    await system.delete('Observation', 'o3');
    const events = await host.untilEvents(5);
    // Without the resource if the writes that follow have hidden it before.
    expect(events.slice(0, 2).map((event) => event.replace(/@.*/, ''))).toEqual(['1 enter o1', '2 update o1']);
    // The writes of one commit.
    expect(
      events
        .slice(2, 4)
        .map((event) => event.replace(/^. |@.*/g, ''))
        .toSorted(),
    ).toEqual(['enter o3', 'leave o1']);
    expect(events.slice(4)).toEqual(['5 leave o3']);
    expect(host.got.map(({ type }) => type)).toEqual(['handshake', ...events.map(() => 'event-notification')]);
    expect(JSON.stringify(host.got)).not.toContain('secret');
    expect(new Set(host.got.map((one) => one.subscription))).toEqual(new Set([`Subscription/${id}`]));
    const { error, ...stored } = await system.read('Subscription', id);
    expect([error, stored.status, stored.criteria]).toEqual([undefined, 'active', 'Observation?status=final']);
  });

  test('after a restart it goes on: nothing is lost, and no number is given twice', async () => {
    const first = new Host();
    const stop = new AbortController();
    const done = first.start({ signal: stop.signal });
    await activated();
    await system.update(observation('o1'));
    expect(await first.untilEvents(1)).toEqual(['1 enter o1@1']);
    stop.abort();
    await done;
    await system.update(observation('o2'));
    await system.update(observation('o2', { issued: '2026-01-01T00:00:00Z' }));
    const second = new Host();
    void second.start();
    expect(await second.untilEvents(2)).toEqual(['2 enter o2@1', '3 update o2@2']);
    expect(second.got).toHaveLength(2);
  });

  test('a number that was given to an event is not given to another, even if nobody can see the event any more', async () => {
    const first = new Host();
    const reached = Promise.withResolvers<undefined>();
    first.answer = ({ type }, signal) => {
      if (type === 'handshake') return undefined;
      reached.resolve(undefined);
      return once(signal, 'abort').then(() => Promise.reject(new Error('ended')));
    };
    const stop = new AbortController();
    const done = first.start({ signal: stop.signal });
    await activated();
    await system.update(observation('o1'));
    await reached.promise;
    stop.abort();
    await done;
    const policy = await system.read('AccessPolicy', 'policy-0');
    const hidden = { ...FINAL, criteria: 'Observation?code=b' };
    await system.update({ ...policy, resource: [hidden, ...RULES.slice(1)] } as typeof policy);
    const second = new Host();
    void second.start();
    await system.update(observation('o2', other));
    expect(await second.untilEvents(1)).toEqual(['2 enter o2@1']);
  });

  test('an event whose attempts fail is sent again with its number, and at the end the status is error', async () => {
    const host = new Host();
    const tried: string[] = [];
    let isDown = false;
    host.answer = ({ bundle, type }) => {
      if (type === 'handshake') return;
      tried.push(shortOf(bundle));
      if (isDown || tried.length < 3) throw new Error('clinical secret');
    };
    void host.start();
    const id = await activated();
    await system.update(observation('o1'));
    expect(await host.untilEvents(1)).toEqual(['1 enter o1@1']);
    expect(tried).toEqual(['1 enter o1@1', '1 enter o1@1', '1 enter o1@1']);
    isDown = true;
    await system.update(observation('o2'));
    expect(await errorOf(id)).toBe('error: The endpoint did not accept notification 2 in 3 attempts');
    await system.update(observation('o3'));
    isDown = false;
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    expect((await host.untilEvents(3)).slice(1)).toEqual(['2 enter o2@1', '3 enter o3@1']);
    expect((await system.read('Subscription', id)).error).toBeUndefined();
  });

  test('two processes deliver each event once', async () => {
    const hosts = [new Host(), new Host()];
    for (const host of hosts) void host.start();
    await activated();
    for (const id of ['o1', 'o2', 'o3']) await system.update(observation(id));
    await until(() => hosts.flatMap(({ events }) => events).length >= 3);
    expect(hosts.flatMap(({ events }) => events)).toEqual(['1 enter o1@1', '2 enter o2@1', '3 enter o3@1']);
    // The handshake may come twice.
    expect(hosts.map(({ events }) => events.length).toSorted()).toEqual([0, 3]);
  });
});

describe('a Subscription', () => {
  beforeEach(() => begin(new MemoryStore()));
  afterEach(end);

  test('with a host that hangs delays no other', async () => {
    const host = new Host();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    const slow = 'https://slow.example/';
    host.answer = ({ endpoint, type }) => (endpoint === slow && type !== 'handshake' ? released : undefined);
    const done = host.start();
    await activated({ channel: { ...subscription().channel, endpoint: slow } });
    await activated();
    await system.update(observation('o1'));
    await system.update(observation('o2'));
    expect(await host.untilEvents(2)).toEqual(['1 enter o1@1', '2 enter o2@1']);
    over.abort();
    await done;
    release(undefined);
  });

  test('among many gets its own events, in order, and ends with the rights also while nothing happens', async () => {
    const host = new Host();
    void host.start();
    const patients = Array.from({ length: 40 }, (_, at) => `Patient/p${at}`);
    const ids = await Promise.all(patients.map((one) => activated({ criteria: `Observation?subject=${one}` })));
    const all = await activated();
    for (const [at, reference] of [...patients, ...patients.toReversed()].entries()) {
      await system.update(observation(`o${at}`, { subject: { reference } }));
      if (at % 9 === 0) await system.update({ resourceType: 'Patient', id: 'p1' });
    }
    await host.untilEvents(160);
    const of = (id: string): string[] => {
      const own = host.got.filter(
        ({ type, subscription: name }) => type !== 'handshake' && name === `Subscription/${id}`,
      );
      return own.map(({ bundle }) => shortOf(bundle));
    };
    expect(ids.map(of)).toEqual(patients.map((_, at) => [`1 enter o${at}@1`, `2 enter o${79 - at}@1`]));
    expect(of(all)).toEqual(Array.from({ length: 80 }, (_, at) => `${at + 1} enter o${at}@1`));
    await updateMember('member-clinic', { active: false }, admin());
    await until(async () => (await Promise.all([...ids, all].map(statusOf))).every((status) => status === 'error'));
  });

  test('that hangs is tried again after the timeout', async () => {
    const host = new Host();
    let attempts = 0;
    host.answer = (_, signal) => (attempts++ === 0 ? once(signal, 'abort') : undefined);
    void host.start({ retry: { attempts: 2, delay: 1, timeout: 20 } });
    await activated();
    expect(attempts).toBe(2);
  });

  test.each<[string, Partial<Subscription>, string]>([
    ['an unknown type', { criteria: 'Nothing?a=b' }, 'a search such as'],
    ['an unknown parameter', { criteria: 'Observation?colour=red' }, 'colour'],
    ['a chain', { criteria: 'Observation?subject:Patient.name=Ann' }, 'cannot filter by "subject:Patient"'],
    ['_has', { criteria: 'Patient?_has:Observation:subject:status=final' }, 'The author may not search Patient'],
    ['an order', { criteria: 'Observation?_sort=date' }, 'no order and no pages'],
    ['a type that the member may not search', { criteria: 'Encounter?status=finished' }, 'may not search Encounter'],
  ])('with %s is refused when it is written', async (_, more, text) => {
    const refused = await mine.create(subscription(more)).catch((error: FhirError) => error);
    expect(refused).toMatchObject({ code: 'unprocessable', status: 422 });
    const [issue] = (refused as FhirError).outcome.issue;
    expect(issue!.expression).toEqual(['Subscription.criteria']);
    expect(issue!.details!.text).toContain(text);
    await expect(mine.create(subscription({ ...more, status: 'off' }))).resolves.toMatchObject({ status: 'off' });
  });

  test.each(['active', 'error'] as const)('that is %s is refused: the service sets that', async (status) => {
    const refused = await mine.create(subscription({ status })).catch((error: FhirError) => error);
    expect((refused as FhirError).outcome.issue[0]!.expression).toEqual(['Subscription.status']);
  });

  test.each(['status', 'criteria', 'channel.header'])('whose %s is hidden from a writer is refused', async (field) => {
    void new Host().start();
    const id = await activated({ channel: { ...subscription().channel, header: ['Authorization: x'] } });
    const policy = await system.read('AccessPolicy', 'policy-0');
    const hiding = { resourceType: 'Subscription', hiddenFields: [field] };
    await system.update({ ...policy, resource: [FINAL, hiding] } as typeof policy);
    const writer = createRepository({ store, caller: await signIn(store, { membership: 'member-clinic' }) });
    const shown = await writer.read('Subscription', id);
    const requested = { ...shown, ...(field === 'status' ? {} : { status: 'requested' }), reason: 'another' };
    for (const one of [shown, requested]) {
      await expect(writer.update(one as typeof shown)).rejects.toMatchObject({ code: 'forbidden' });
    }
    const off = writer.update({ ...shown, status: 'off' });
    await (field === 'status' ? expect(off).rejects.toMatchObject({ code: 'forbidden' }) : off);
    expect(await statusOf(id)).toBe(field === 'status' ? 'active' : 'off');
  });

  test.each<[string, Partial<Subscription>, string]>([
    ['another channel', { channel: { type: 'email', endpoint: 'mailto:a@example.org' } }, 'Only the channel type'],
    ['no endpoint', { channel: { type: 'rest-hook' } }, 'The channel has no endpoint'],
    [
      'a payload of XML',
      { channel: { type: 'rest-hook', endpoint: 'https://a.example', payload: 'application/fhir+xml' } },
      'The payload must be application/fhir+json',
    ],
    [
      'another header in its payload',
      { channel: { type: 'rest-hook', endpoint: 'https://a.example', payload: 'application/json\r\nHost: b.example' } },
      'The payload must be application/fhir+json',
    ],
    ...['X: y\r\nHost: b.example', 'no field', 'X: \u0000'].map((header): [string, Partial<Subscription>, string] => [
      `the header ${JSON.stringify(header)}`,
      { channel: { type: 'rest-hook', endpoint: 'https://a.example', header: ['Authorization: x', header] } },
      'Each header must be one line',
    ]),
    ...['https://a.example\n/', 'hook', 'Bot/b1/_history/1'].map(
      (endpoint): [string, Partial<Subscription>, string] => [
        `the endpoint ${JSON.stringify(endpoint)}`,
        { channel: { type: 'rest-hook', endpoint } },
        'The endpoint must be an absolute URL, or a Bot',
      ],
    ),
    ['an end that has passed', { end: '2020-01-01T00:00:00Z' }, 'Its end has passed'],
    [
      'a Bot that is not there',
      { channel: { type: 'rest-hook', endpoint: 'Bot/b1' } },
      'Its author can read no such Bot',
    ],
  ])('with %s gets the reason', async (_, more, text) => {
    const host = new Host();
    void host.start();
    const { id } = await mine.create(subscription(more));
    expect(await errorOf(id)).toContain(`${more.end === undefined ? 'error' : 'off'}: ${text}`);
    expect(host.got).toEqual([]);
  });

  test('of trusted code acts for nobody, whoever the client says that it is', async () => {
    void new Host().start();
    const { id } = await mine.create(subscription({ status: 'off' }));
    const stored = await system.read('Subscription', id);
    const meta = { ...stored.meta, author: { reference: 'Practitioner/dr1' } };
    await system.update({ ...stored, meta, status: 'requested' } as typeof stored);
    expect(await errorOf(id)).toBe('error: Trusted code wrote it; a member must write it, in whose name it acts');
  });

  test('shows nobody on which terms its author signed in, trusted code included', async () => {
    const caller = await signIn(store, { membership: 'member-clinic' });
    const scopes = 'user/Subscription.crud user/Observation.rs?status=final';
    const app = createRepository({ store, caller: narrowCaller(caller, { scopes }) });
    const { id } = await app.create(subscription({ status: 'off' }));
    for (const one of [caller, systemCaller('clinic')]) {
      const reader = createRepository({ store, caller: one, extendedMeta: true });
      const stored = await reader.read('Subscription', id);
      expect(stored.meta).toMatchObject({ author: { reference: 'Practitioner/dr1' } });
      const shown = JSON.stringify([stored, await reader.history('Subscription', id)]);
      expect(shown).not.toMatch(/member-clinic|Observation\.rs/);
    }
  });

  test('that is requested again under other rules names nothing from before them', async () => {
    const host = new Host();
    let isDown = false;
    host.answer = ({ type }) => {
      if (isDown && type !== 'handshake') throw new Error('down');
    };
    void host.start();
    const id = await activated();
    isDown = true;
    await system.update(observation('o1', other));
    await system.delete('Observation', 'o1');
    await system.update(observation('o2'));
    expect(await errorOf(id)).toContain('did not accept');
    const policy = await system.read('AccessPolicy', 'policy-0');
    await system.update({ ...policy, resource: [{ resourceType: 'Observation' }, ...RULES.slice(1)] } as typeof policy);
    isDown = false;
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o3'));
    expect((await host.untilEvents(1)).map((event) => event.slice(2))).toEqual(['enter o3@1']);
  });

  test('that is requested by another user under the same membership id gets nothing from before', async () => {
    const host = new Host();
    let isDown = false;
    host.answer = ({ type }) => {
      if (isDown && type !== 'handshake') throw new Error('down');
    };
    void host.start();
    const join = async (user: string): Promise<Repository> => {
      const records = [
        plain({ resourceType: 'User', id: user, firstName: 'A', lastName: 'B', email: `${user}@clinic.example` }),
        plain({
          resourceType: 'ProjectMembership',
          id: 'm1',
          project: { reference: 'Project/clinic' },
          user: { reference: `User/${user}` },
          profile: { reference: 'Practitioner/dr1' },
          access: [{ policy: { reference: 'AccessPolicy/policy-0' } }],
        }),
      ];
      const writes = records.map((resource) => ({
        kind: 'put' as const,
        key: { type: resource.resourceType, id: resource.id! },
        resource,
      }));
      await guardStore(store, serverCaller('clinic')).commit(writes);
      return createRepository({ store, caller: await signIn(store, { membership: 'm1' }) });
    };
    mine = await join('first');
    const id = await activated();
    isDown = true;
    await system.update(observation('o1'));
    await system.update(observation('o2'));
    await system.delete('Observation', 'o2');
    expect(await errorOf(id)).toContain('did not accept');
    await removeMember('m1', admin());
    mine = await join('second');
    isDown = false;
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o3'));
    expect(await host.untilEvents(1)).toEqual(['2 enter o3@1']);
  });

  test('whose rules become narrower and come back names nothing that only matched in between', async () => {
    const host = new Host();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<undefined>();
    host.answer = ({ bundle, type }) => {
      if (type === 'handshake' || !shortOf(bundle).includes('o1')) return undefined;
      reached.resolve(undefined);
      return released;
    };
    void host.start();
    await activated();
    await system.update(observation('o1'));
    await reached.promise;
    const policy = await system.read('AccessPolicy', 'policy-0');
    const narrower = { ...FINAL, criteria: 'Observation?code=b' };
    await system.update({ ...policy, resource: [narrower, ...RULES.slice(1)] } as typeof policy);
    await system.update(observation('never'));
    await system.update(observation('never', { issued: '2026-01-01T00:00:00Z' }));
    await system.delete('Observation', 'never');
    await system.update({ ...(await system.read('AccessPolicy', 'policy-0')), resource: RULES } as typeof policy);
    await system.update(observation('o2'));
    release(undefined);
    expect((await host.untilEvents(2)).slice(1)).toEqual(['2 enter o2@1']);
  });

  test('whose rules become wider names nothing from before them but what its author can read now', async () => {
    const host = new Host();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    host.answer = ({ bundle, type }) => (type !== 'handshake' && shortOf(bundle).includes('o1') ? released : undefined);
    void host.start();
    const id = await activated();
    const { rights } = await stateOf(id);
    await system.update(observation('o1'));
    for (const one of ['never1', 'never2', 'now1']) await system.update(observation(one, other));
    await system.update(observation('never1', { ...other, issued: '2026-01-01T00:00:00Z' }));
    await system.delete('Observation', 'never1');
    await system.update(observation('never2', { code: { coding: [{ code: 'c' }] } }));
    const policy = await system.read('AccessPolicy', 'policy-0');
    const wider = { ...FINAL, criteria: 'Observation?code=a,b' };
    await system.update({ ...policy, resource: [wider, ...RULES.slice(1)] } as typeof policy);
    release(undefined);
    expect((await host.untilEvents(2)).slice(1)).toEqual(['2 enter now1@1']);
    // From here on, the author knows all that leaves.
    await until(async () => (await stateOf(id)).rights !== rights);
    await system.delete('Observation', 'now1');
    expect((await host.untilEvents(3)).slice(2)).toEqual(['3 leave now1']);
    expect(JSON.stringify(host.got)).not.toContain('never');
  });

  test('passes the validation of strict mode', async () => {
    const operator = createRepository({ store, caller: serverCaller() });
    await operator.patch('Project', 'clinic', [{ op: 'add', path: '/strictMode', value: true }]);
    void new Host().start();
    const id = await activated();
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    await until(async () => (await system.read('Subscription', id)).meta.versionId === '4');
    expect(await statusOf(id)).toBe('active');
  });

  test('acts with the rights of its last writer, and within its narrowings', async () => {
    const host = new Host();
    void host.start();
    const caller = await signIn(store, { membership: 'member-clinic' });
    const scopes = 'user/Subscription.crud user/Observation.rs?status=final';
    const app = createRepository({ store, caller: narrowCaller(caller, { scopes }) });
    const { id } = await app.create(subscription({ criteria: 'Observation' }));
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o1', { status: 'preliminary' }));
    await system.update(observation('o2'));
    expect(await host.untilEvents(1)).toEqual(['1 enter o2@1']);
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    await until(() => host.got.filter(({ type }) => type === 'handshake').length === 2);
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o3', { status: 'preliminary' }));
    expect((await host.untilEvents(2)).slice(1)).toEqual(['2 enter o3@1']);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['is inactive', () => updateMember('member-clinic', { active: false }, admin()), 'membership-inactive'],
    ['is removed', () => removeMember('member-clinic', admin()), 'membership-missing'],
    ['is signed out everywhere', () => revokeSessions({ membership: 'member-clinic' }, admin()), 'session-ended'],
  ])('ends when its member %s', async (_, change, code) => {
    const host = new Host();
    void host.start();
    const id = await activated();
    await change();
    await system.update(observation('o1'));
    expect(await errorOf(id)).toBe(`error: Its author cannot sign in (${code})`);
    expect(host.events).toEqual([]);
  });

  test('of a session that was revoked long before ends, and one of a session that began just after goes on', async () => {
    const revoked = await signIn(store, { membership: 'member-clinic' }, { recheckAfter: Infinity });
    const clock = (): Date => new Date(Date.now() - 120_000);
    await revokeSessions({ membership: 'member-clinic' }, { ...admin(), clock });
    void new Host().start();
    const { id } = await createRepository({ store, caller: revoked }).create(subscription());
    expect(await errorOf(id)).toBe('error: Its author cannot sign in (session-ended)');
    await revokeSessions({ membership: 'member-clinic' }, admin());
    mine = createRepository({
      store,
      caller: await signIn(store, { membership: 'member-clinic' }, { issuedAt: 'now' }),
    });
    expect(await statusOf(await activated())).toBe('active');
  });

  test('follows the rules of its member as they change, and ends when they no longer allow its criteria', async () => {
    const host = new Host();
    void host.start();
    const id = await activated();
    const policy = await system.read('AccessPolicy', 'policy-0');
    const rules = (rule: RuleJson) => ({ ...policy, resource: [rule, ...RULES.slice(1)] }) as typeof policy;
    await system.update(rules({ ...FINAL, criteria: 'Observation?code=b' }));
    await system.update(observation('o1'));
    await system.update(observation('o2', other));
    expect(await host.untilEvents(1)).toEqual(['1 enter o2@1']);
    await system.update(rules({ resourceType: 'Encounter' }));
    await system.update(observation('o3', other));
    expect(await errorOf(id)).toBe('error: Its criteria cannot be followed (forbidden)');
    expect(host.events).toHaveLength(1);
  });

  test('does not show a version that its author cannot read any more', async () => {
    const host = new Host();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    host.answer = ({ bundle, type }) => (type !== 'handshake' && shortOf(bundle).includes('o1') ? released : undefined);
    void host.start();
    await activated();
    await system.update(observation('o1'));
    await system.update(observation('o2'));
    await system.update(observation('o2', other));
    await system.update(observation('o3'));
    release(undefined);
    expect(await host.untilEvents(4)).toEqual(['1 enter o1@1', '2 enter o2', '3 leave o2', '4 enter o3@1']);
  });

  test.each<[string, Subscription['channel'], readonly string[]]>([
    ['nothing', { type: 'rest-hook', endpoint: 'https://a.example' }, []],
    ['a payload', subscription().channel, ['POST 201 true', 'DELETE 204 false']],
    ['id-only', withContent('id-only'), ['POST 201 false', 'DELETE 204 false']],
    ['empty', withContent('empty'), []],
  ])('asks for %s', async (_, channel, entries) => {
    const host = new Host();
    void host.start({ baseUrl: 'https://fhir.example/R4/' });
    const id = await activated({ channel: { ...channel, header: ['Authorization: x'] } });
    await system.update(observation('o1'));
    await until(() => host.got.length === 2);
    await system.delete('Observation', 'o1');
    await until(() => host.got.length === 3);
    const [handshake, ...events] = host.got;
    expect(parametersOf(handshake!.bundle)).toEqual([
      ['subscription', `https://fhir.example/R4/Subscription/${id}`],
      ['status', 'requested'],
      ['type', 'handshake'],
      ['events-since-subscription-start', '0'],
    ]);
    expect(parametersOf(events[1]!.bundle).slice(1, 4)).toEqual([
      ['status', 'active'],
      ['type', 'event-notification'],
      ['events-since-subscription-start', '2'],
    ]);
    const shown = events.flatMap(({ bundle }) => bundle.entry!.slice(1));
    expect(
      shown.map(
        ({ request, response, resource }) => `${request!.method} ${response!.status} ${resource !== undefined}`,
      ),
    ).toEqual(entries);
    for (const { fullUrl } of shown) expect(fullUrl).toBe('https://fhir.example/R4/Observation/o1');
    expect(JSON.stringify(events).includes('Observation/o1')).toBe(entries.length > 0);
    expect(events[0]).toMatchObject({ endpoint: channel.endpoint, header: ['Authorization: x'], caller: undefined });
    expect(() => (handshake!.header as string[]).push('X: y')).toThrow(TypeError);
    const { type, entry } = events[0]!.bundle;
    expect([type, entry![0]!.request]).toEqual([
      'history',
      { method: 'GET', url: `https://fhir.example/R4/Subscription/${id}/$status` },
    ]);
  });

  test.each(['', 'https://own.base/fhir/'])(
    'with a Bot as endpoint, below "%s", has the host act as that Bot',
    async (base) => {
      await end();
      await begin(new MemoryStore({ baseUrl: 'https://own.base/fhir' }));
      const { bot } = await createBot('clinic', { name: 'Notifier' }, admin());
      const host = new Host();
      void host.start();
      await activated({ channel: { ...subscription().channel, endpoint: `${base}Bot/${bot.id}` } });
      host.answer = ({ caller, bundle }) =>
        createRepository({ store, caller: caller! }).create({
          resourceType: 'Communication',
          status: 'completed',
          note: [{ text: shortOf(bundle) }],
        });
      await system.update(observation('o1'));
      expect(await host.untilEvents(1)).toEqual(['1 enter o1@1']);
      expect(host.got).toHaveLength(1);
      const trusted = createRepository({ store, caller: systemCaller('clinic'), extendedMeta: true });
      const [found] = (await trusted.search('Communication', {})).entry!;
      expect(found!.resource).toMatchObject({
        meta: { author: { reference: `Bot/${bot.id}` } },
        note: [{ text: '1 enter o1@1' }],
      });
    },
  );

  test('is forgotten when it is deleted or erased, and stops when it is off', async () => {
    const host = new Host();
    void host.start();
    const [deleted, erased, off] = [await activated(), await activated(), await activated()];
    await mine.delete('Subscription', deleted);
    await eraseResource('Subscription', erased, { ...admin(), caller: serverCaller('clinic'), reason: 'test-data' });
    await mine.update({ ...(await mine.read('Subscription', off)), status: 'off' });
    const last = await activated();
    await system.update(observation('o1'));
    expect(await host.untilEvents(1)).toHaveLength(1);
    expect(host.got.at(-1)!.subscription).toBe(`Subscription/${last}`);
    await until(async () => {
      const { matches } = await store.search({ project: '/subscriptions', type: 'Basic', criteria: { kind: 'all' } });
      return matches.length === 2;
    });
  });

  test('that is deleted and created again begins anew, also if no process delivers in between', async () => {
    const host = new Host();
    const stop = new AbortController();
    const done = host.start({ signal: stop.signal });
    const id = await activated();
    for (const one of ['o1', 'o2']) await system.update(observation(one));
    await host.untilEvents(2);
    stop.abort();
    await done;
    await mine.delete('Subscription', id);
    expect(await stateOf(id)).toEqual({ number: 0 });
    await system.update(observation('o3'));
    await mine.update({ ...subscription(), id });
    void host.start();
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o4'));
    expect((await host.untilEvents(3)).slice(2)).toEqual(['1 enter o4@1']);
    await mine.delete('Subscription', id);
    await mine.update({ ...subscription(), id });
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o5'));
    expect((await host.untilEvents(4)).slice(3)).toEqual(['1 enter o5@1']);
  });

  test('leaves nothing above its project when the project is deleted', async () => {
    const { position: after } = await store.changes!({ project: '/subscriptions' });
    const stop = new AbortController();
    const host = new Host();
    const done = host.start({ signal: stop.signal });
    await activated();
    await system.update(observation('o1'));
    await host.untilEvents(1);
    stop.abort();
    await done;
    const operator = { store, caller: serverCaller() };
    await createRepository(operator).patch('Project', 'clinic', [{ op: 'add', path: '/name', value: 'Clinic' }]);
    await deleteProject('clinic', { name: 'Clinic' }, operator);
    const { changes } = await store.changes!({ project: '/subscriptions', after });
    const keys = changes.map(({ key }) => key).filter(({ id }) => id !== 'lease');
    expect(keys.map(({ type }) => type)).toEqual(expect.arrayContaining(['Basic', 'Parameters']));
    for (const found of await store.read(keys)) expect(found.status).toBe('gone');
  });

  test('ends with the reason when versions that it needs were purged, and not when a resource was erased', async () => {
    const host = new Host();
    const stop = new AbortController();
    const done = host.start({ signal: stop.signal });
    const id = await activated();
    for (const one of ['o1', 'o2']) await system.update(observation(one));
    await host.untilEvents(2);
    stop.abort();
    await done;
    await system.update(observation('o1', { issued: '2026-01-01T00:00:00Z' }));
    await eraseResource('Observation', 'o1', { ...admin(), caller: serverCaller('clinic'), reason: 'test-data' });
    const next = new AbortController();
    const second = host.start({ signal: next.signal });
    await system.update(observation('o3'));
    expect((await host.untilEvents(3)).slice(2)).toEqual(['3 enter o3@1']);
    next.abort();
    await second;
    await system.update(observation('o2', other));
    const replacedBefore = new Date(Date.now() + 1000).toISOString();
    await store.removal!.purgeHistory({ project: 'clinic', replacedBefore, keep: 1 });
    void host.start();
    await system.update(observation('o4'));
    expect(await errorOf(id)).toContain('error: It is not known any more which changes were sent');
    await until(async () => (await stateOf(id)).position === undefined);
    await mine.update({ ...(await mine.read('Subscription', id)), status: 'requested' });
    await until(async () => (await statusOf(id)) === 'active');
    await system.update(observation('o5'));
    expect((await host.untilEvents(4)).slice(3)).toEqual(['4 enter o5@1']);
  });

  test.each([['o2'], ['o3'], ['o1', 'o2', 'o3', 'o4']])(
    'gives no event a second number, and loses none, when %s of a commit is erased before it was sent',
    async (...erased) => {
      const host = new Host();
      const reached = Promise.withResolvers<undefined>();
      host.answer = ({ bundle, type }, signal) => {
        if (type === 'handshake' || !shortOf(bundle).includes('o3')) return undefined;
        reached.resolve(undefined);
        return once(signal, 'abort').then(() => Promise.reject(new Error('ended')));
      };
      const stop = new AbortController();
      const done = host.start({ signal: stop.signal });
      await activated();
      await system.update(observation('o0'));
      await system.transaction({
        resourceType: 'Bundle',
        type: 'transaction',
        entry: ['o4', 'o3', 'o2', 'o1'].map((one) => ({
          resource: observation(one),
          request: { method: 'PUT', url: `Observation/${one}` },
        })),
      });
      await system.update(observation('p0'));
      await reached.promise;
      stop.abort();
      await done;
      expect(host.events).toEqual(['1 enter o0@1', '2 enter o1@1', '3 enter o2@1']);
      for (const one of erased) {
        await eraseResource('Observation', one, { ...admin(), caller: serverCaller('clinic'), reason: 'test-data' });
      }
      const second = new Host();
      void second.start();
      const left = ['o3', 'o4', 'p0'].filter((one) => !erased.includes(one));
      const from = left[0] === 'o3' ? 4 : 5;
      expect(await second.untilEvents(left.length)).toEqual(left.map((one, at) => `${from + at} enter ${one}@1`));
    },
  );

  test('is audited in the name of its author, with what was shown', async () => {
    const records: AuditRecord[] = [];
    const host = new Host();
    void host.start({ audit: (record) => void records.push(record), requireAudit: true });
    await activated();
    await system.update(observation('o1', { subject: { reference: 'Patient/p1' } }));
    await host.untilEvents(1);
    expect(records).toMatchObject([
      {
        interaction: 'search',
        who: { kind: 'member', membership: 'ProjectMembership/member-clinic' },
        returned: { total: 1, resources: [{ type: 'Observation', id: 'o1', versionId: '1' }] },
        patients: { total: 1, ids: ['p1'] },
      },
    ]);
  });

  test('reaches a webhook over HTTP', async () => {
    const bodies: Bundle[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (part: string) => (text += part));
      request.on('end', () => {
        if (request.headers['authorization'] === 'Bearer t') bodies.push(JSON.parse(text) as Bundle);
        response.writeHead(request.headers['authorization'] === 'Bearer t' ? 200 : 401).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    void new Host().start({
      async deliver({ endpoint, header, payload, bundle }, { signal }) {
        const headers = new Headers(header.map((line) => line.split(': ', 2) as [string, string]));
        headers.set('content-type', payload!);
        const answer = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(bundle), signal });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
      },
    });
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    await activated({ channel: { ...subscription().channel, endpoint, header: ['Authorization: Bearer t'] } });
    await system.update(observation('o1'));
    await until(() => bodies.length === 2);
    expect(shortOf(bodies[1]!)).toBe('1 enter o1@1');
    expect(bodies[1]!.entry![1]!.resource).toMatchObject({ resourceType: 'Observation', id: 'o1', status: 'final' });
    server.close();
  });
});

describe('deliverSubscriptions', () => {
  beforeEach(() => begin(new MemoryStore()));
  afterEach(end);

  test('settles when the signal fires, and when the store is closed', async () => {
    const host = new Host();
    const stop = new AbortController();
    const first = host.start({ signal: stop.signal });
    await activated();
    stop.abort();
    await expect(first).resolves.toBeUndefined();
    const second = host.start({ signal: undefined });
    await activated();
    await store.close();
    await expect(second).resolves.toBeUndefined();
  });

  test('refuses options that it does not know', async () => {
    const deliver = (): void => undefined;
    const refused = [{ endpoint: 'x' }, { retry: { times: 3 } }, { retry: { attempts: 0 } }, { requireAudit: true }];
    for (const more of refused) {
      await expect(deliverSubscriptions({ store, deliver, ...more })).rejects.toMatchObject({
        code: 'invalid',
      });
    }
  });

  test('continues in another process when the one that delivers says nothing any more', async () => {
    const before = { ...LEASE };
    Object.assign(LEASE, { lasts: 100, renewed: 20 });
    try {
      const [first, second] = [new Host(), new Host()];
      // A process that is gone: it cannot even release its lease.
      const cut = new AbortController();
      const broken = storeWith(store, {
        commit: (...call) => (cut.signal.aborted ? new Promise<never>(() => undefined) : store.commit(...call)),
      });
      void deliverSubscriptions({ store: broken, deliver: (one) => void first.got.push(one) });
      await activated();
      await system.update(observation('o1'));
      expect(await first.untilEvents(1)).toEqual(['1 enter o1@1']);
      cut.abort();
      void second.start();
      await system.update(observation('o2'));
      expect((await second.untilEvents(1)).at(-1)).toBe('2 enter o2@1');
    } finally {
      Object.assign(LEASE, before);
    }
  });
});

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

function withContent(code: string): Subscription['channel'] {
  const url = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-payload-content';
  return { ...subscription().channel, _payload: { extension: [{ url, valueCode: code }] } } as Subscription['channel'];
}

function parametersOf(bundle: Bundle): (readonly [string, unknown])[] {
  const { parameter } = bundle.entry![0]!.resource as Parameters;
  return parameter!.map(({ name, valueReference, valueCode, valueString }) => [
    name,
    valueReference?.reference ?? valueCode ?? valueString,
  ]);
}

function admin() {
  return { store, caller: systemCaller('clinic') };
}
