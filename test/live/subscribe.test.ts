import type { Observation } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type Caller,
  createRepository,
  type MemberCaller,
  MemoryStore,
  narrowCaller,
  type Repository,
  type ResourceEvent,
  signIn,
  type Stored,
  systemCaller,
} from '../../src/index.js';
import { enrol, type PolicyJson } from '../access/policies.js';
import { fill, plain } from '../access/world.js';
import { until } from '../support/until.js';

let store: MemoryStore;
let repository: Repository;
/** Ends what a test leaves open. */
let over: AbortController;

beforeEach(() => {
  store = new MemoryStore();
  over = new AbortController();
  repository = createRepository({ store, caller: systemCaller('clinic'), signal: over.signal });
});

afterEach(async () => {
  over.abort();
  await store.close();
});

/** Dr. Kim, whose policy this is. */
async function memberWith(policy: PolicyJson): ReturnType<typeof enrol> {
  await fill(store, 'clinic', [plain({ resourceType: 'Practitioner', id: 'dr1' })]);
  return enrol(store, 'clinic', {
    profile: 'Practitioner/dr1',
    policies: [policy],
    access: [{ policy: 0, parameters: [] }],
  });
}

const observation = (id: string, more: Partial<Observation> = {}): Observation => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'pulse' },
  subject: { reference: 'Patient/p1' },
  ...more,
});

/** The event in short: `enter o1@2`. */
const short = ({ event, id, resource }: ResourceEvent<{ readonly meta: { readonly versionId?: string } }>): string =>
  `${event} ${id}${resource === undefined ? '' : `@${resource.meta.versionId}`}`;

async function take<Item>(events: AsyncIterator<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  while (taken.length < count) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`The subscription ended after ${taken.length} events`);
    taken.push(value);
  }
  return taken;
}

describe('which event', () => {
  test('a resource enters, changes, and leaves the matches of a search', async () => {
    const events = repository.subscribe('Observation', { status: 'final', patient: 'p1' });
    await repository.update(observation('o1', { status: 'preliminary' }));
    await repository.update(observation('o1'));
    expect((await take(events, 1)).map(short)).toEqual(['enter o1@2']);
    await repository.update(observation('o1', { code: { text: 'heart rate' } }));
    expect((await take(events, 1)).map(short)).toEqual(['update o1@3']);
    await repository.update(observation('o1', { subject: { reference: 'Patient/p2' } }));
    expect((await take(events, 1)).map(short)).toEqual(['leave o1']);
    await repository.update(observation('o2'));
    expect((await take(events, 1)).map(short)).toEqual(['enter o2@1']);
    await repository.delete('Observation', 'o2');
    const [left] = await take(events, 1);
    expect(left).toEqual({ event: 'leave', id: 'o2', position: expect.any(String) as string });
  });

  test('it begins at the call, not with the first event', async () => {
    const events = repository.subscribe('Observation');
    await repository.update(observation('o1'));
    expect((await take(events, 1)).map(short)).toEqual(['enter o1@1']);
  });

  test('it hears of nothing before the call while others, who follow for longer, still wait for their changes', async () => {
    const changes = vi.spyOn(store, 'changes');
    const others = take(repository.subscribe('Observation'), 1);
    await until(() => changes.mock.calls.length > 1);
    const { promise: released, resolve: release } = Promise.withResolvers<null>();
    const seen: (string | undefined)[] = [];
    const { position } = await store.changes({ project: 'clinic' });
    changes.mockImplementation(async (query) => {
      const page = await MemoryStore.prototype.changes.call(store, query);
      if (query.after === position) await released;
      seen.push(query.after);
      return page;
    });
    await repository.update(observation('o1'));
    const begun = await store.changes({ project: 'clinic' });
    const mine = take(repository.subscribe('Observation'), 1);
    await until(() => seen.includes(begun.position));
    release(null);
    expect((await others).map(short)).toEqual(['enter o1@1']);
    await repository.update(observation('o2'));
    expect((await mine).map(short)).toEqual(['enter o2@1']);
  });

  test('a write that changes nothing visible is no event', async () => {
    const caller = await memberWith({ resource: [{ resourceType: 'Observation', hiddenFields: ['note'] }] });
    const events = createRepository({ store, caller }).subscribe('Observation');
    await repository.update(observation('o1', { note: [{ text: 'secret' }] }));
    await repository.update(observation('o1', { note: [{ text: 'another' }] }));
    await repository.update(observation('o2'));
    const [first, second] = await take(events, 2);
    expect([first, second].map((event) => short(event!))).toEqual(['enter o1@2', 'enter o2@1']);
    expect(first!.resource).not.toHaveProperty('note');
    await repository.update(observation('o1', { note: [{ text: 'a third' }] }));
    await repository.update(observation('o2', { status: 'amended' }));
    expect((await take(events, 1)).map(short)).toEqual(['update o2@2']);
    await events.return(undefined);
  });
});

describe('positions', () => {
  test('an event later than a position is read after it, also by another subscription', async () => {
    const events = repository.subscribe('Observation');
    await repository.update(observation('o1'));
    const [first] = await take(events, 1);
    await events.return(undefined);
    await repository.update(observation('o2'));
    await repository.delete('Observation', 'o1');
    const again = repository.subscribe('Observation', {}, { after: first!.position });
    expect((await take(again, 2)).map(short).toSorted()).toEqual(['enter o2@1', 'leave o1']);
  });

  describe('of a member', () => {
    const rule = (codes: string): PolicyJson => ({
      resource: [{ resourceType: 'Observation', criteria: `Observation?status=${codes}` }],
    });
    const subscribed = (caller: Caller, after?: string): AsyncGenerator<ResourceEvent<Stored<Observation>>> =>
      createRepository({ store, caller, signal: over.signal }).subscribe('Observation', {}, { after });

    /** The position of an event that Dr. Kim gets, before a resource comes and goes that the doctor cannot see. */
    async function begun(): Promise<{ readonly caller: MemberCaller; readonly position: string }> {
      const caller = await memberWith(rule('final'));
      const events = subscribed(caller);
      await repository.update(observation('o1'));
      const [first] = await take(events, 1);
      await events.return(undefined);
      await repository.update(observation('never', { status: 'preliminary' }));
      await repository.delete('Observation', 'never');
      await repository.update(observation('o2'));
      return { caller, position: first!.position };
    }

    test('go on with the next session, also with another filter', async () => {
      const { position } = await begun();
      const again = await signIn(store, { membership: 'member-clinic' }, { purpose: 'TREAT' });
      expect((await take(subscribed(again, position), 1)).map(short)).toEqual(['enter o2@1']);
      const filtered = createRepository({ store, caller: again, signal: over.signal });
      const events = filtered.subscribe('Observation', { patient: 'p1' }, { after: position });
      expect((await take(events, 1)).map(short)).toEqual(['enter o2@1']);
    });

    test('are a reset with other rules, which would show what the member never knew', async () => {
      const { caller, position } = await begun();
      const policy = await repository.read('AccessPolicy', 'policy-0');
      await repository.update({ ...policy, ...rule('final,preliminary') } as typeof policy);
      const wider = await signIn(store, { membership: 'member-clinic' });
      const narrow = narrowCaller(wider, { scopes: 'user/Observation.rs?status=final' });
      for (const one of [wider, narrow]) {
        await expect(subscribed(one, position).next()).rejects.toMatchObject({ code: 'reset' });
      }
      await expect(subscribed(caller, position).next()).rejects.toMatchObject({ code: 'reset' });
    });

    test('are a reset after rules that were others meanwhile, in each session', async () => {
      const { caller, position } = await begun();
      const policy = await repository.read('AccessPolicy', 'policy-0');
      await repository.update({ ...policy, ...rule('final,preliminary') } as typeof policy);
      await repository.update(policy);
      await expect(subscribed(caller, position).next()).rejects.toMatchObject({ code: 'reset' });
      await expect(
        subscribed(await signIn(store, { membership: 'member-clinic' }), position).next(),
      ).rejects.toMatchObject({ code: 'reset' });
    });

    test('are positions of the feed, so that nobody can forge more than an older one', async () => {
      const { position } = await begun();
      const trusted = subscribed(systemCaller('clinic'), position);
      expect((await take(trusted, 1)).map(short)).toEqual(['enter o2@1']);
      const { changes } = await store.changes({ project: 'clinic', after: position });
      expect(changes.map(({ key }) => key.id)).toEqual(['never', 'never', 'o2']);
    });
  });

  test('a position of another store is a reset', async () => {
    const events = repository.subscribe('Observation', {}, { after: 'x' });
    await expect(events.next()).rejects.toMatchObject({ code: 'reset' });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });
});
