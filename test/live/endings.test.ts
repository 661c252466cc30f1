import type { Observation } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createRepository,
  eraseResource,
  MemoryStore,
  type Repository,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { enrol } from '../access/policies.js';
import { fill, plain } from '../access/world.js';

let store: MemoryStore;
let system: Repository;
let mine: Repository;

beforeEach(async () => {
  store = new MemoryStore();
  system = createRepository({ store, caller: systemCaller('clinic') });
  await fill(store, 'clinic', [plain({ resourceType: 'Practitioner', id: 'dr1' })]);
  const resource = [{ resourceType: 'Observation', criteria: 'Observation?status=final' }];
  await enrol(store, 'clinic', {
    profile: 'Practitioner/dr1',
    policies: [{ resource }],
    access: [{ policy: 0, parameters: [] }],
  });
  mine = createRepository({ store, caller: await signIn(store, { membership: 'member-clinic' }) });
});

afterEach(() => store.close());

const observation = (id: string, more: Partial<Observation> = {}): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'pulse' },
  ...more,
});

const context = () => ({ store, caller: systemCaller('clinic') });

describe('a subscription ends', () => {
  test('with the code of signing in, where the caller could not sign in any more', async () => {
    const next = mine.subscribe('Observation').next();
    await updateMember('member-clinic', { active: false }, context());
    await expect(next).rejects.toMatchObject({ code: 'membership-inactive' });
  });

  test('before it shows what came after the rights were gone', async () => {
    const events = mine.subscribe('Observation');
    await updateMember('member-clinic', { active: false }, context());
    await system.update(observation('o1'));
    await expect(events.next()).rejects.toMatchObject({ code: 'membership-inactive' });
  });

  describe('that begins after the rights were gone, while others follow the project', () => {
    /** Waits until the feed has passed on to another reader, who stays, what was committed so far. */
    async function untilFollowed(): Promise<void> {
      const next = system.subscribe('Practitioner').next();
      await system.create({ resourceType: 'Practitioner' });
      await next;
    }

    test('with the code of signing in', async () => {
      await updateMember('member-clinic', { active: false }, context());
      await untilFollowed();
      const next = mine.subscribe('Observation').next();
      await system.update(observation('o1'));
      await expect(next).rejects.toMatchObject({ code: 'membership-inactive' });
    });

    test('with reset, if other rules hold', async () => {
      const policy = await system.read('AccessPolicy', 'policy-0');
      await system.update({
        ...policy,
        resource: [{ resourceType: 'Observation', criteria: 'Observation?code=none' }],
      });
      await untilFollowed();
      const next = mine.subscribe('Observation').next();
      await system.update(observation('o1'));
      await expect(next).rejects.toMatchObject({ code: 'reset' });
    });
  });

  test('with reset, if other rules hold', async () => {
    const next = mine.subscribe('Observation').next();
    const policy = await system.read('AccessPolicy', 'policy-0');
    await system.update({ ...policy, resource: [{ resourceType: 'Observation' }] });
    await expect(next).rejects.toMatchObject({ code: 'reset' });
  });

  test('not, if the rules are the same', async () => {
    const events = mine.subscribe('Observation');
    const next = events.next();
    await system.update({ ...(await system.read('AccessPolicy', 'policy-0')), name: 'another name' });
    await system.update(observation('o1'));
    expect((await next).value).toMatchObject({ event: 'enter', id: 'o1' });
    await events.return(undefined);
  });

  test('at the moment at which the access of the caller ends', async () => {
    const expires = new Date(Date.now() + 500).toISOString();
    await updateMember('member-clinic', { expires }, context());
    const caller = await signIn(store, { membership: 'member-clinic' });
    const events = createRepository({ store, caller }).subscribe('Observation');
    await expect(events.next()).rejects.toMatchObject({ code: 'membership-expired' });
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires));
  });

  test('with reset, after an erasure in its type', async () => {
    await system.update(observation('o1'));
    const next = mine.subscribe('Observation').next();
    await eraseResource('Observation', 'o1', { store, caller: serverCaller('clinic'), reason: 'consent-withdrawn' });
    await expect(next).rejects.toMatchObject({ code: 'reset' });
  });

  test('without an error: by its signal, and when the store is closed', async () => {
    const stop = new AbortController();
    const [first, second] = [
      mine.subscribe('Observation', {}, { signal: stop.signal }).next(),
      mine.subscribe('Observation').next(),
    ];
    stop.abort();
    expect(await first).toEqual({ done: true, value: undefined });
    await store.close();
    expect(await second).toEqual({ done: true, value: undefined });
  });
});

describe('a subscription is refused', () => {
  test.each([
    ['subject:Patient.name=Adams', /cannot filter by "subject:Patient"/],
    ['_has:Provenance:target:agent=Practitioner/1', /cannot filter by "_has"/],
    ['code:in=http://example.org/ValueSet/x', /value sets/],
    ['_sort=date', /takes no "_sort"/],
    ['_count=5', /takes no "_count"/],
    ['_include=Observation:subject', /takes no "_include"/],
  ])('%s', (query, message) => {
    expect(() => system.subscribe('Observation', query)).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) as string }),
    );
  });

  test('a limit of streams', async () => {
    const few = (streams: object): Repository => createRepository({ ...context(), limits: { streams } });
    const first = system.subscribe('Observation');
    const throttled = (limit: string): object =>
      expect.objectContaining({ code: 'throttled', details: { limit, max: 1 } }) as object;
    expect(() => few({ caller: 1 }).subscribe('Observation')).toThrow(throttled('streams.caller'));
    expect(() => few({ project: 1 }).subscribe('Task')).toThrow(throttled('streams.project'));
    expect(() => few({ broad: 1 }).subscribe('Task')).toThrow(throttled('streams.broad'));
    expect(() => few({ none: 1 }).subscribe('Task')).toThrow('There is no limit called "streams.none"');
    const indexed = few({ broad: 1 }).subscribe('Observation', { patient: 'p1' });
    await Promise.all([first, indexed].map((events) => events.return(undefined)));
    await few({ caller: 1 }).subscribe('Observation').return(undefined);
  });
});

test('a reader that takes its time gets the newest version', async () => {
  const events = mine.subscribe('Observation');
  for (let pulse = 60; pulse < 100; pulse++) await system.update(observation('o1', { valueInteger: pulse }));
  const { value } = await events.next();
  expect(value).toMatchObject({ event: 'enter', resource: { valueInteger: 99, meta: { versionId: '40' } } });
  await system.update(observation('o2'));
  expect((await events.next()).value).toMatchObject({ id: 'o2' });
  await events.return(undefined);
});

test('trusted code above projects follows Users', async () => {
  const above = createRepository({ store, caller: serverCaller() });
  const events = above.subscribe('User');
  await above.create({ resourceType: 'User', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.org' } as never);
  expect((await events.next()).value).toMatchObject({ event: 'enter', resource: { lastName: 'Lee' } });
  await events.return(undefined);
});
