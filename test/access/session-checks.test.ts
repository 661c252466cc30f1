import { describe, expect, test } from 'vitest';
import { breakGlass, MemoryStore, serverCaller, signIn, systemCaller, updateMember } from '../../src/index.js';
import type { CallOptions } from '../../src/store.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { accessEnd, assertNotExpired, assertNotRevoked, revocationsIn } from '../../src/access/sign-in/member.js';
import { currentCaller } from '../../src/access/sign-in/current-caller.js';
import { requireExternalId } from '../../src/access/sign-in/find-membership.js';
import { OWN_EXTENSIONS, withExtensions } from '../../src/fhir/own-extensions.js';
import { codeOf, repositoryOf, signedIn, system } from '../repository/harness.js';
import { storeWith } from '../support/store-with.js';

const START = Date.parse('2030-01-01T00:00:00Z');
const KEY = { type: 'Patient', id: 'p' };

async function member() {
  const store = new MemoryStore();
  await system(store);
  return { store, membership: (await signedIn(store)).membership };
}

async function session(expires?: string) {
  const store = new MemoryStore();
  await system(store);
  const { membership } = await signedIn(store);
  const change = (changes: object): Promise<unknown> =>
    updateMember(membership, changes, { store, caller: systemCaller('clinic') });
  if (expires !== undefined) await change({ expires });
  const time = { now: START };
  const caller = await signIn(store, { membership }, { clock: () => new Date(time.now) });
  const use = (over = store as Parameters<typeof guardStore>[0], options?: CallOptions): Promise<string> =>
    guardStore(over, caller)
      .read([KEY], options)
      .then(
        () => 'works',
        (error: { code: string }) => error.code,
      );
  return { store, change, time, caller, use };
}

describe('the session of a caller', () => {
  test('ends at the end of access, even between two checks', async () => {
    const { time, use } = await session('2030-01-01T00:00:02Z');
    time.now += 1_999;
    expect(await use()).toBe('works');
    time.now += 1;
    expect(await use()).toBe('membership-expired');
  });

  test('ends at the end of access even if the epoch has not changed', async () => {
    const { time, use } = await session('2030-01-01T00:00:20Z');
    for (const now of [5_000, 10_000, 15_000, 19_999]) {
      time.now = START + now;
      expect(await use()).toBe('works');
    }
    time.now = START + 20_000;
    expect(await use()).toBe('membership-expired');
  });

  test('is checked in full each time over a store without an epoch', async () => {
    const { store, change, time, use } = await session();
    const plain = storeWith(store, {});
    for (let look = 0; look < 3; look += 1) {
      time.now += 5_000;
      expect(await use(plain)).toBe('works');
    }
    await change({ active: false });
    time.now += 5_000;
    expect(await use(plain)).toBe('membership-inactive');
  });

  test('is checked by each waiting call if the shared check failed', async () => {
    const { store, change, time, use } = await session();
    await change({ active: false });
    time.now += 5_000;
    const broken = storeWith(store, { accessEpoch: () => Promise.reject(new Error('down')) });
    const first = use(broken);
    const beside = use();
    expect([await first, await beside]).toEqual([undefined, 'membership-inactive']);
  });

  test('is checked within the signal and the deadline of the call', async () => {
    const { store, time, use } = await session();
    const given: (CallOptions | undefined)[] = [];
    const seen = storeWith(store, {
      accessEpoch(options) {
        given.push(options);
        return store.accessEpoch();
      },
    });
    time.now += 5_000;
    const { signal } = new AbortController();
    await use(seen, { signal });
    time.now += 5_000;
    await use(seen);
    expect(given[0]?.signal).toBe(signal);
    expect(given[1]?.signal).toBeUndefined();
  });

  test('also ends for a caller derived from the current rights', async () => {
    const { store, change, time, caller } = await session();
    const again = await currentCaller(store, caller, () => true, undefined);
    await change({ active: false });
    time.now += 5_000;
    expect(await codeOf(guardStore(store, again).read([KEY]))).toBe('membership-inactive');
  });

  test('ends when its project becomes that of super administrators', async () => {
    const { store, time, use } = await session();
    const operator = repositoryOf(store, serverCaller());
    await operator.update({ ...(await operator.read('Project', 'clinic')), superAdmin: true });
    time.now += 5_000;
    expect(await use()).toBe('session-ended');
  });
});

describe('times', () => {
  const resource = (url: string, valueInstant: unknown) =>
    withExtensions({ resourceType: 'ProjectMembership', id: 'm' } as never, url, [{ valueInstant }]);

  test('that are invalid have passed', () => {
    for (const instant of ['soon', 2999, undefined]) {
      expect(accessEnd(resource(OWN_EXTENSIONS.accessExpires, instant))).toBe(-Infinity);
    }
    expect(accessEnd(resource(OWN_EXTENSIONS.accessExpires, '2030-01-01T00:00:00Z'))).toBe(START);
    for (const instant of ['soon', 1999, undefined]) {
      const member = resource(OWN_EXTENSIONS.sessionsNotBefore, instant);
      expect(() => assertNotRevoked(revocationsIn([undefined, member]), { issued: START }, START)).toThrow(
        'The sessions of this member were revoked',
      );
    }
  });

  test('end access and sessions to the millisecond', () => {
    assertNotExpired(START, START - 1);
    expect(() => assertNotExpired(START, START)).toThrow('The access of this member has ended');
    const revoked = resource(OWN_EXTENSIONS.sessionsNotBefore, '2030-01-01T00:00:00Z');
    const [allowance, at] = [60_000, revocationsIn([revoked])];
    assertNotRevoked(at, { issued: START + allowance + 1 }, START + allowance);
    for (const [issued, now] of [
      [START + allowance, START + allowance],
      [START + 3 * allowance + 1, START + 2 * allowance],
    ] as const) {
      expect(() => assertNotRevoked(at, { issued }, now)).toThrow('sign in again');
    }
  });
});

test('the error after a change of rights says what to do', async () => {
  const { store, change, time, caller } = await session();
  await change({ admin: true });
  time.now += 5_000;
  await expect(guardStore(store, caller).read([KEY])).rejects.toThrow(
    'The rights of this caller have changed since it signed in; sign in again',
  );
});

test('the options of a session are validated', async () => {
  const { store, membership } = await member();
  for (const [options, message] of [
    [{ issuedAt: new Date(Number.NaN) }, 'issuedAt must be a valid Date'],
    [{ issuedAt: '2030-01-01' }, 'issuedAt must be a valid Date'],
    [{ recheckAfter: -1 }, 'recheckAfter must be a number of milliseconds, 0 or more'],
    [{ recheckAfter: '5' }, 'recheckAfter must be a number of milliseconds, 0 or more'],
  ] as const) {
    await expect(signIn(store, { membership }, options as never)).rejects.toMatchObject({ code: 'invalid', message });
  }
});

test('emergency access needs a policy for it', async () => {
  const { store, membership } = await member();
  const caller = await signIn(store, { membership });
  const given = breakGlass(caller, {
    store,
    reason: 'x',
    until: new Date(Date.now() + 60_000).toISOString(),
    audit: () => undefined,
  });
  await expect(given).rejects.toMatchObject({
    code: 'forbidden',
    message: `ProjectMembership/${membership} names no access policy for emergencies`,
  });
});

test('the clearance of a member is named in explanations of its rules', async () => {
  const { store, membership } = await member();
  const clearance = [{ system: 'urn:labels', codes: ['open'] }];
  await updateMember(membership, { clearance }, { store, caller: systemCaller('clinic') });
  const { rules } = await signIn(store, { membership });
  expect(rules.rulesFor('Patient').map(({ narrowed }) => narrowed?.text)).toEqual(['the clearance of the member']);
});

test('an external id is a string', async () => {
  expect(requireExternalId('x')).toBe('x');
  expect(() => requireExternalId(7)).toThrow('Sign-in needs the externalId as a string');
  expect(await codeOf(Promise.resolve().then(() => requireExternalId(7)))).toBe('invalid');
});
