import type { ProjectMembership } from '@medplum/fhirtypes';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FhirError, type MemberCaller, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import { SERVER_SCOPE, type StoreRemoval, type Write } from '../../src/store.js';
import { currentCaller, writesWhile } from '../../src/access/sign-in/current-caller.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { codeOf, faultOf, signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

const isAdmin = ({ admin }: MemberCaller): boolean => admin;
const put = (id: string, version?: string): Write => ({
  kind: 'put',
  key: { project: 'clinic', type: 'Patient', id },
  resource: { resourceType: 'Patient', id },
  ...(version === undefined ? {} : { expect: { version } }),
});

/** An administrator, and something that happens before the first commit after that. */
async function administrator(): Promise<{
  readonly store: ResourceStore;
  readonly caller: MemberCaller;
  readonly change: (more: Partial<ProjectMembership>) => Promise<unknown>;
  readonly before: (event: () => Promise<unknown>) => void;
}> {
  const store = new MemoryStore();
  const trusted = await system(store);
  const caller = await signedIn(store, { admin: true });
  const change = async (more: Partial<ProjectMembership>): Promise<unknown> =>
    trusted.update({ ...(await trusted.read('ProjectMembership', caller.membership)), ...more });
  const before = (event: () => Promise<unknown>): void => {
    const commit = store.commit.bind(store);
    vi.spyOn(store, 'commit').mockImplementationOnce(async (...args) => {
      await event();
      return commit(...args);
    });
  };
  return { store, caller, change, before };
}

const patients = async (store: ResourceStore): Promise<readonly (string | undefined)[]> =>
  (await store.search({ project: 'clinic', type: 'Patient', criteria: ALL })).matches.map(
    ({ resource }) => resource.id,
  );

// All versions are written in one millisecond.
beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('writes while their caller is an administrator', () => {
  test('commits the given writes, and returns only their results', async () => {
    const { store, caller } = await administrator();
    const results = await writesWhile(store, caller, isAdmin).commit([put('a'), put('b')]);
    expect(results.map((one) => one.kind === 'put' && one.resource.id)).toEqual(['a', 'b']);
    expect(await patients(store)).toEqual(['a', 'b']);
  });

  test.each<[string, string, Partial<ProjectMembership>]>([
    ['its membership is made inactive', 'membership-inactive', { active: false }],
    ['it is an administrator no more', 'forbidden', { admin: false }],
  ])('commits nothing after %s', async (_, code, more) => {
    const { store, caller, change, before } = await administrator();
    before(() => change(more));
    expect(await codeOf(writesWhile(store, caller, isAdmin).commit([put('a')]))).toBe(code);
    expect(await patients(store)).toEqual([]);
  });

  test('commits nothing after its rights are restricted, in the millisecond in which they were read', async () => {
    const { store, caller, change, before } = await administrator();
    const isUnrestricted = ({ bound }: MemberCaller): boolean => !bound;
    const narrow = { resourceType: 'AccessPolicy', id: 'narrow', resource: [{ resourceType: 'Patient' }] } as const;
    await (await system(store)).update(narrow as never);
    before(() => change({ accessPolicy: { reference: 'AccessPolicy/narrow' } }));
    expect(await codeOf(writesWhile(store, caller, isUnrestricted).commit([put('a')]))).toBe('forbidden');
    expect(await patients(store)).toEqual([]);
  });

  test.each([true, false])(
    'commits nothing after its membership is removed, listed above projects: %s',
    async (listed) => {
      const { store, caller, before } = await administrator();
      const key = { type: 'ProjectMembership', id: caller.membership };
      const removal = (project: string): Write => ({ kind: 'delete', key: { ...key, project } });
      if (!listed) await store.commit([removal(SERVER_SCOPE)]);
      before(() => store.commit([removal('clinic'), removal(SERVER_SCOPE)]));
      expect(await codeOf(writesWhile(store, caller, isAdmin).commit([put('a')]))).toBe('membership-missing');
      expect(await patients(store)).toEqual([]);
    },
  );

  test('commits nothing after its membership and its profile are removed', async () => {
    const { store, caller, before } = await administrator();
    const [type, id] = caller.profile.split('/') as [string, string];
    const keys = ['clinic', SERVER_SCOPE].map((project) => ({
      project,
      type: 'ProjectMembership',
      id: caller.membership,
    }));
    before(() => store.commit([...keys, { project: 'clinic', type, id }].map((key) => ({ kind: 'delete', key }))));
    expect(await codeOf(writesWhile(store, caller, isAdmin).commit([put('a')]))).toBe('membership-missing');
    expect(await patients(store)).toEqual([]);
  });

  test('commits for a membership that the directory above projects does not list', async () => {
    const { store, caller } = await administrator();
    await store.commit([
      { kind: 'delete', key: { project: SERVER_SCOPE, type: 'ProjectMembership', id: caller.membership } },
    ]);
    await writesWhile(store, caller, isAdmin).commit([put('a')]);
    expect(await patients(store)).toEqual(['a']);
  });

  test('reports the position of the write that failed', async () => {
    const { store, caller } = await administrator();
    for (const [index, writes] of [[put('a', '7')], [put('a'), put('b', '7')]].entries()) {
      const fault = await faultOf(writesWhile(store, caller, isAdmin).commit(writes));
      expect([fault.code, fault.details?.['index']]).toEqual(['precondition-failed', index]);
    }
  });

  test('removes only where the store removes, and are the store of trusted code', async () => {
    const { store, caller } = await administrator();
    expect(writesWhile(storeWith(store, {}), caller, isAdmin).removal).toBeUndefined();
    expect(writesWhile(store, systemCaller('clinic'), isAdmin)).toBe(store);
  });

  test('removes only while the rights exist, with the options of the call', async () => {
    const { store, caller, change } = await administrator();
    const calls: unknown[] = [];
    const removal = new Proxy({} as StoreRemoval, {
      get:
        (_, name) =>
        (...args: unknown[]) => (calls.push([name, ...args]), Promise.resolve(name)),
    });
    const options = { signal: new AbortController().signal };
    const whole = writesWhile(storeWith(store, { removal }), caller, isAdmin);
    const request = { project: 'clinic' } as never;
    const purge = (): Promise<unknown> => whole.removal!.purgeHistory(request, options);
    const remove = (): Promise<unknown> => whole.removal!.removeProject('clinic', options);
    const scrub = (): Promise<unknown> => whole.removal!.scrub(options);
    expect([await purge(), await remove(), await scrub()]).toEqual(['purgeHistory', 'removeProject', 'scrub']);
    const all = [
      ['purgeHistory', request, options],
      ['removeProject', 'clinic', options],
      ['scrub', options],
    ];
    expect(calls).toEqual(all);
    await change({ admin: false });
    expect([await codeOf(purge()), await codeOf(remove())]).toEqual(['forbidden', 'forbidden']);
    expect(calls).toEqual(all);
    await scrub();
    expect(calls).toHaveLength(4);
  });

  test('checks only that the caller is still an administrator', async () => {
    const { store } = await administrator();
    const caller = await signedIn(store);
    await writesWhile(store, caller, () => true).commit([put('a')]);
    expect(await patients(store)).toEqual(['a']);
  });

  test('commits if a change leaves the caller an administrator', async () => {
    const { store, caller, change, before } = await administrator();
    before(() => change({ userName: 'ann' }));
    await writesWhile(store, caller, isAdmin).commit([put('a')]);
    expect(await patients(store)).toEqual(['a']);
  });

  test('reports which of the writes failed', async () => {
    const { store, caller } = await administrator();
    const fault = await faultOf(writesWhile(store, caller, isAdmin).commit([put('a'), put('b', '9')]));
    expect([fault.code, fault.details?.['index']]).toEqual(['precondition-failed', 1]);
  });

  test('passes on an error that is not about a write', async () => {
    const { store, caller } = await administrator();
    const error = new Error('disk full');
    vi.spyOn(store, 'commit').mockRejectedValueOnce(error);
    await expect(writesWhile(store, caller, isAdmin).commit([put('a')])).rejects.toBe(error);
  });

  test('gives up if the membership never stops changing, or if it is aborted', async () => {
    const { store, caller } = await administrator();
    const cause = new FhirError('precondition-failed', 'x', { details: { index: 0 } });
    const abort = new AbortController();
    const spy = vi.spyOn(store, 'commit').mockRejectedValue(cause);
    expect(await faultOf(writesWhile(store, caller, isAdmin).commit([put('a')]))).toMatchObject({
      code: 'unavailable',
      message: 'The membership of the caller keeps changing; try again',
      cause,
    });
    expect(spy).toHaveBeenCalledTimes(50);
    const { signal } = abort;
    spy.mockImplementationOnce(() => {
      abort.abort();
      return Promise.reject(cause);
    });
    expect(await codeOf(writesWhile(store, caller, isAdmin).commit([put('a')], { signal }))).toBe('aborted');
    expect(spy).toHaveBeenCalledTimes(51);
    expect(spy).toHaveBeenLastCalledWith(expect.anything(), { signal });
    expect(await codeOf(writesWhile(store, caller, isAdmin).commit([put('a')], { signal }))).toBe('aborted');
    expect(spy).toHaveBeenCalledTimes(51);
  });
});

describe('the current caller', () => {
  test('has the current rights of its membership', async () => {
    const { store, caller, change } = await administrator();
    const still = await currentCaller(store, caller, isAdmin, undefined);
    expect(still).toMatchObject({ kind: 'member', membership: caller.membership, admin: true });
    await change({ admin: false });
    expect(await currentCaller(store, caller, () => true, undefined)).toMatchObject({ admin: false });
    expect(await faultOf(currentCaller(store, caller, isAdmin, undefined))).toMatchObject({
      code: 'forbidden',
      message: 'The caller may not do this any more: its membership has changed since it signed in',
    });
  });

  test('is not the person who received its membership later', async () => {
    const { store, caller, change } = await administrator();
    await change({ user: { reference: 'User/other' } });
    expect(await faultOf(currentCaller(store, caller, isAdmin, undefined))).toMatchObject({
      code: 'membership-missing',
      message: `ProjectMembership/${caller.membership} was not found`,
    });
  });

  test('is unchanged for trusted code', async () => {
    const { store } = await administrator();
    const trusted = systemCaller('clinic');
    expect(await currentCaller(store, trusted, () => false, undefined)).toBe(trusted);
    expect(writesWhile(store, trusted, () => false)).toBe(store);
  });
});
