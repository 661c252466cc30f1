import type { RelatedPerson } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import {
  FhirError,
  type MemberCaller,
  MemoryStore,
  type ResourceStore,
  revokeSessions,
  serverCaller,
  signIn,
  type SignInOptions,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { currentCaller } from '../../src/access/sign-in/current-caller.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { codeOf, faultOf, overStores, repositoryOf, signedIn, system } from '../repository/harness.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { storeWith } from '../support/store-with.js';

const START = Date.parse('2030-01-01T00:00:00.000Z');
const RULES = [{ resourceType: 'Patient' }];

/** A clock of the test's own, and a member that signed in by it. */
async function session(store: ResourceStore, options: SignInOptions = {}, rules: typeof RULES | undefined = RULES) {
  await system(store);
  const { membership, user, profile } = await signedIn(store, { rules });
  const time = { now: START };
  const clock = (): Date => new Date(time.now);
  const caller = await signIn(store, { membership }, { clock, ...options });
  const trusted = repositoryOf(store, serverCaller('clinic'));
  return { store, time, clock, caller, membership, user, profile, trusted, use: () => outcomeOf(store, caller) };
}

function outcomeOf(store: ResourceStore, caller: MemberCaller): Promise<string> {
  return repositoryOf(store, caller)
    .search('Patient', 'gender=male')
    .then(
      () => 'works',
      (error: unknown) => (error instanceof FhirError ? error.code : String(error)),
    );
}

type Session = Awaited<ReturnType<typeof session>>;
const policyOf = async ({ trusted, membership }: Session): Promise<string> => {
  const { access } = await trusted.read('ProjectMembership', membership);
  return access![0]!.policy.reference!.slice('AccessPolicy/'.length);
};

const CHANGES: readonly (readonly [code: string, name: string, (session: Session) => Promise<unknown>])[] = [
  [
    'membership-inactive',
    'is switched off',
    ({ store, membership }) => updateMember(membership, { active: false }, { store, caller: systemCaller('clinic') }),
  ],
  ['membership-missing', 'is removed', ({ trusted, membership }) => trusted.delete('ProjectMembership', membership)],
  [
    'user-missing',
    'has no User any more',
    ({ store, user }) => repositoryOf(store, serverCaller()).delete('User', user.slice(5)),
  ],
  [
    'profile-missing',
    'has no profile any more',
    async ({ store, profile }) => {
      const [type, id] = profile.split('/') as [string, string];
      await store.commit([{ kind: 'delete', key: { project: 'clinic', type, id } }]);
    },
  ],
  [
    'project-missing',
    'has its project switched off',
    async ({ trusted }) => trusted.update({ ...(await trusted.read('Project', 'clinic')), active: false }),
  ],
  [
    'session-ended',
    'has another policy',
    async (one) => {
      const id = await policyOf(one);
      await one.trusted.update({ resourceType: 'AccessPolicy', id, resource: [{ resourceType: 'Observation' }] });
    },
  ],
  [
    'policy-missing',
    'has no policy any more',
    async (one) => {
      await one.store.commit([
        { kind: 'delete', key: { project: 'clinic', type: 'AccessPolicy', id: await policyOf(one) } },
      ]);
    },
  ],
  [
    'session-ended',
    'is administrator',
    ({ store, membership }) => updateMember(membership, { admin: true }, { store, caller: systemCaller('clinic') }),
  ],
  [
    'session-ended',
    'has parameters of its policy',
    async ({ trusted, membership }) => {
      const stored = await trusted.read('ProjectMembership', membership);
      await trusted.update({
        ...stored,
        access: [{ ...stored.access![0]!, parameter: [{ name: 'ward', valueString: 'x' }] }],
      });
    },
  ],
  [
    'session-ended',
    'has its sessions revoked',
    ({ store, membership, clock }) => revokeSessions({ membership }, { store, caller: systemCaller('clinic'), clock }),
  ],
  [
    'session-ended',
    'has its sessions revoked in all projects',
    ({ store, user, clock }) => revokeSessions({ user }, { store, caller: serverCaller(), clock }),
  ],
  [
    'membership-expired',
    'has its access ended',
    ({ store, membership }) =>
      updateMember(membership, { expires: '2030-01-01T00:00:04Z' }, { store, caller: systemCaller('clinic') }),
  ],
];

overStores('a caller in use', (open) => {
  test.each(CHANGES)('ends with %s within five seconds after the member %s', async (code, _, change) => {
    const one = await session(open());
    await change(one);
    one.time.now += 4_999;
    expect(await one.use()).toBe('works');
    one.time.now += 1;
    expect(await one.use()).toBe(code);
    // It stays ended, for any time and any caller.
    one.time.now = START;
    expect(await one.use()).toBe(code);
    const guard = guardStore(one.store, one.caller);
    expect(await codeOf(guard.read([{ type: 'Patient', id: 'p' }]))).toBe(code);
    expect(await codeOf(guard.commit([]))).toBe(code);
    expect(await codeOf(guard.history({ type: 'Patient', id: 'p' }, { offset: 0, limit: 1 }))).toBe(code);
  });

  test('continues if nothing that decides about access has changed, at the cost of one store call', async () => {
    const store = open();
    const { caller, time, trusted, membership, user } = await session(store);
    const calls: string[] = [];
    const counted = storeWith(store, {
      async accessEpoch() {
        calls.push('epoch');
        return store.accessEpoch!();
      },
      read(keys, options) {
        calls.push('read');
        return store.read(keys, options);
      },
    });
    const costs = async (milliseconds: number): Promise<string> => {
      calls.length = 0;
      time.now += milliseconds;
      expect(await outcomeOf(counted, caller)).toBe('works');
      return calls.join(' ');
    };
    expect(await costs(0)).toBe('');
    expect(await costs(4_999)).toBe('');
    // Twice in full: a replica may lag behind the first look.
    const full = 'epoch read read read read read';
    expect(await costs(1)).toBe(full);
    expect(await costs(5_000)).toBe(full);
    expect(await costs(5_000)).toBe('epoch');
    await trusted.create({ resourceType: 'Patient', gender: 'male' });
    expect(await costs(5_000)).toBe('epoch');
    // The name of the member decides nothing.
    await trusted.update({ ...(await trusted.read('ProjectMembership', membership)), userName: 'other' });
    const operator = repositoryOf(store, serverCaller());
    await operator.update({ ...(await operator.read('User', user.slice(5))), firstName: 'Other' });
    await trusted.update({ ...(await trusted.read('Project', 'clinic')), name: 'Renamed' });
    expect(await costs(5_000)).toBe(full);
    expect(await costs(5_000)).toBe(full);
    expect(await costs(5_000)).toBe('epoch');
    expect(await costs(0)).toBe('');
    // A clock that is set back causes a check.
    expect(await costs(-1)).toBe('epoch');
  });

  test('of a RelatedPerson ends when its relationship does', async () => {
    const store = open();
    const trusted = await system(store);
    await trusted.update({ resourceType: 'Patient', id: 'pat' });
    const profile: RelatedPerson = { resourceType: 'RelatedPerson', id: 'rel', patient: { reference: 'Patient/pat' } };
    const { membership } = await signedIn(store, { profile });
    let now = START;
    const caller = await signIn(store, { membership }, { clock: () => new Date(now) });
    await repositoryOf(store, serverCaller('clinic')).update({ ...profile, active: false });
    expect(await outcomeOf(store, caller)).toBe('works');
    now += 5_000;
    expect(await outcomeOf(store, caller)).toBe('session-ended');
  });

  test('is checked by one store call for all calls that are due', async () => {
    const store = open();
    const { caller, time } = await session(store);
    let looks = 0;
    const counted = storeWith(store, {
      async accessEpoch() {
        looks += 1;
        return store.accessEpoch!();
      },
    });
    time.now += 5_000;
    const guard = guardStore(counted, caller);
    await Promise.all(Array.from({ length: 5 }, () => guard.read([{ type: 'Patient', id: 'p' }])));
    expect(looks).toBe(1);
  });

  test('does not end because the store, or the request that checks, fails', async () => {
    const store = open();
    const { caller, time, use } = await session(store);
    time.now += 5_000;
    const broken = storeWith(store, { read: () => Promise.reject(new FhirError('unavailable', 'locked')) });
    expect(await outcomeOf(broken, caller)).toBe('unavailable');
    const stopped = new AbortController();
    const slow = storeWith(store, {
      async accessEpoch(options) {
        stopped.abort();
        options?.signal?.throwIfAborted();
        return store.accessEpoch!(options);
      },
    });
    const aborted = guardStore(slow, caller).read([{ type: 'Patient', id: 'p' }], { signal: stopped.signal });
    const beside = guardStore(store, caller).read([{ type: 'Patient', id: 'p' }]);
    await expect(aborted).rejects.toThrow();
    expect(await beside).toEqual([{ status: 'missing' }]);
    expect(await use()).toBe('works');
  });

  test('is checked at the interval of the host, and in full each time by a store without an epoch', async () => {
    const store = open();
    const always = await session(store, { recheckAfter: 0 });
    const never = await session(store, { recheckAfter: Infinity });
    const plain = storeWith(store, {});
    const still = await session(store);
    for (const { membership } of [always, never, still]) {
      await updateMember(membership, { active: false }, { store, caller: systemCaller('clinic') });
    }
    expect(await always.use()).toBe('membership-inactive');
    never.time.now += 1e12;
    expect(await never.use()).toBe('works');
    still.time.now += 5_000;
    expect(await outcomeOf(plain, still.caller)).toBe('membership-inactive');
  });
});

overStores('a revoked session', (open) => {
  test('is not accepted again with the same token, but with a later token', async () => {
    const one = await session(open());
    const { store, membership, user, clock } = one;
    const byToken = (issued: number): Promise<string> =>
      signIn(store, { membership }, { clock, issuedAt: new Date(issued) }).then(() => 'signed in', codeOfError);
    expect(await byToken(START - 1e9)).toBe('signed in');
    await revokeSessions({ membership }, { store, caller: systemCaller('clinic'), clock });
    expect(await byToken(START - 1)).toBe('session-ended');
    expect(await byToken(START)).toBe('session-ended');
    // The clock of the issuer may be a minute ahead.
    expect(await byToken(START + 60_000)).toBe('session-ended');
    one.time.now += 1;
    expect(await byToken(START + 60_001)).toBe('signed in');
    await revokeSessions({ user }, { store, caller: serverCaller(), clock });
    expect(await byToken(START + 60_001)).toBe('session-ended');
    one.time.now += 1;
    expect(await byToken(START + 60_002)).toBe('signed in');
  });

  test('is not accepted if nobody knows when its token was issued', async () => {
    const { store, membership, clock, time } = await session(open());
    const admin = systemCaller('clinic');
    expect(await signIn(store, { membership }, { clock })).toMatchObject({ membership });
    await revokeSessions({ membership }, { store, caller: admin, clock });
    for (const passed of [0, 1, 120_000, 1e12]) {
      time.now = START + passed;
      expect(await codeOf(signIn(store, { membership }, { clock }))).toBe('session-ended');
    }
    expect(await signIn(store, { membership }, { clock, issuedAt: 'now' })).toMatchObject({ membership });
  });

  test.each<[string, number]>([
    ['a second', 1_000],
    ['a minute', 60_000],
    ['an hour', 3_600_000],
  ])('ends although it began while the clock was %s ahead', async (_name, ahead) => {
    const { store, membership, user } = await session(open());
    const time = { now: START + ahead };
    const clock = (): Date => new Date(time.now);
    const right = (): Date => new Date(START + 5_000);
    for (const [sessions, by] of [
      [{ membership }, systemCaller('clinic')],
      [{ user }, serverCaller()],
    ] as const) {
      const issuedAt = new Date(START + ahead + 200_000);
      time.now = issuedAt.getTime();
      const callers = [
        await signIn(store, { membership }, { clock, issuedAt }),
        await signIn(store, { membership }, { clock, issuedAt: 'now' }),
      ];
      await revokeSessions(sessions, { store, caller: by, clock: right });
      // Neither a clock that stays ahead nor one that was set right keeps the session.
      time.now += 5_000;
      for (const caller of callers) expect(await outcomeOf(store, caller)).toBe('session-ended');
      expect(await codeOf(signIn(store, { membership }, { clock: right, issuedAt }))).toBe('session-ended');
    }
  });

  test('stays revoked if a later revocation has an earlier time', async () => {
    const { store, membership, user, clock, time } = await session(open());
    const issuedAt = new Date(START);
    for (const [sessions, by] of [
      [{ membership }, systemCaller('clinic')],
      [{ user }, serverCaller()],
    ] as const) {
      time.now = START + 3_600_000;
      await revokeSessions(sessions, { store, caller: by, clock });
      time.now = START - 3_600_000;
      const caller = await signIn(store, { membership }, { clock, issuedAt: 'now' });
      await revokeSessions(sessions, { store, caller: by, clock });
      time.now = START;
      expect(await outcomeOf(store, caller)).toBe('session-ended');
      expect(await codeOf(signIn(store, { membership }, { clock, issuedAt }))).toBe('session-ended');
    }
  });

  test('can be ended by everybody for themselves, and by an administrator for its members', async () => {
    const { store, membership, user, caller, clock, time } = await session(open());
    const other = await signedIn(store);
    const admin = await signedIn(store, { admin: true });
    await system(store, 'elsewhere');
    const foreign = await signedIn(store, { project: 'elsewhere', admin: true });
    const end = (sessions: Parameters<typeof revokeSessions>[0], by: Parameters<typeof revokeSessions>[1]['caller']) =>
      revokeSessions(sessions, { store, caller: by, clock }).then(() => 'ended', codeOfError);
    expect(await end({ membership }, other)).toBe('forbidden');
    expect(await end({ user }, other)).toBe('forbidden');
    expect(await end({ user }, admin)).toBe('forbidden');
    expect(await end({ user }, systemCaller('clinic'))).toBe('forbidden');
    expect(await end({ membership }, foreign)).toBe('not-found');
    expect(await end({ user: 'nobody' }, serverCaller())).toBe('not-found');
    expect(await end({ membership: 'nobody' }, admin)).toBe('not-found');
    for (const nothing of [{}, undefined, { user: undefined }, { membership: 'User/1' }]) {
      expect(await end(nothing as never, serverCaller())).toBe('invalid');
    }
    expect(await end({ membership }, undefined as never)).toBe('unauthenticated');
    expect(await outcomeOf(store, caller)).toBe('works');
    expect(await end({ membership: `ProjectMembership/${membership}` }, admin)).toBe('ended');
    time.now += 1;
    const again = await signIn(store, { membership }, { clock, issuedAt: 'now' });
    time.now += 1;
    expect(await end({ user }, again)).toBe('ended');
    expect(await end({ membership }, again)).toBe('session-ended');
    time.now += 1;
    const third = await signIn(store, { membership }, { clock, issuedAt: 'now' });
    time.now += 1;
    expect(await end({ membership: { reference: `ProjectMembership/${membership}` } }, third)).toBe('ended');
    expect((await faultOf(signIn(store, { membership }, { clock }))).code).toBe('session-ended');
  });

  test('cannot undo its end through its own User', async () => {
    const { store, user, caller, clock } = await session(open());
    const mine = repositoryOf(store, caller);
    await revokeSessions({ user }, { store, caller: serverCaller(), clock });
    // Until the next check the session goes on.
    const own = await mine.read('User', user.slice(5));
    await mine.update({
      ...own,
      extension: [
        {
          url: 'https://fhirgraph.org/fhir/StructureDefinition/sessions-not-before',
          valueInstant: '2001-01-01T00:00:00Z',
        },
      ],
    });
    await mine.update(own);
    expect((await faultOf(currentCaller(store, caller, () => true, undefined))).code).toBe('session-ended');
  });
});

const codeOfError = (error: unknown): string => (error instanceof FhirError ? error.code : String(error));

describe('the end of access', () => {
  const at = (text: string): SignInOptions => ({ clock: () => new Date(text) });

  test('is a time in the membership that administrators set', async () => {
    const store = new MemoryStore();
    const { membership } = await session(store);
    const admin = await signedIn(store, { admin: true });
    const context = { store, caller: admin };
    const updated = await updateMember(membership, { expires: '2030-06-01T02:00:00+02:00' }, context);
    const url = 'https://fhirgraph.org/fhir/StructureDefinition/access-expires';
    expect(updated.extension).toEqual([{ url, valueInstant: '2030-06-01T00:00:00.000Z' }]);
    expect(await signIn(store, { membership }, at('2030-05-31T23:59:59.999Z'))).toMatchObject({ membership });
    expect(await codeOf(signIn(store, { membership }, at('2030-06-01T00:00:00.000Z')))).toBe('membership-expired');
    expect((await updateMember(membership, { expires: null }, context)).extension).toBeUndefined();
    expect(await signIn(store, { membership }, at('2031-01-01T00:00:00Z'))).toMatchObject({ membership });
    for (const expires of ['2030-06-01', 'tomorrow', '2030-13-01T00:00:00Z', '2030-06-01T00:00:00', 7]) {
      const fault = await faultOf(updateMember(membership, { expires: expires as string }, context));
      expect([fault.code, fault.issues[0]?.expression]).toEqual(['invalid', ['expires']]);
    }
    // A caller cannot change the end of its own access.
    expect(await codeOf(updateMember(admin.membership, { expires: '2040-01-01T00:00:00Z' }, context))).toBe(
      'forbidden',
    );
    // The last administrator cannot be removed.
    const last = { store, caller: systemCaller('clinic') };
    expect(await codeOf(updateMember(admin.membership, { expires: '2040-01-01T00:00:00Z' }, last))).toBe('conflict');
  });

  test.each([
    ['membership-expired', 'access-expires'],
    ['session-ended', 'sessions-not-before'],
  ])('is %s if %s is invalid', async (code, name) => {
    const store = new MemoryStore();
    const { membership, trusted } = await session(store);
    const stored = await trusted.read('ProjectMembership', membership);
    const url = `https://fhirgraph.org/fhir/StructureDefinition/${name}`;
    for (const value of [{}, { valueInstant: 'soon' }, { valueDate: '2040-01-01' }]) {
      await trusted.update({
        ...stored,
        extension: [{ url: 'https://other.example' }, { url, ...value }],
      });
      expect(await codeOf(signIn(store, { membership }))).toBe(code);
    }
  });

  test.each<[SignInOptions]>([
    [{ issuedAt: new Date(Number.NaN) }],
    [{ issuedAt: 1_900_000_000 as never }],
    [{ recheckAfter: -1 }],
    [{ recheckAfter: Number.NaN }],
    [{ recheckAfter: '5' as never }],
  ])('is not decided by %j', async (options) => {
    const store = new MemoryStore();
    const { membership } = await session(store);
    expect(await codeOf(signIn(store, { membership }, options))).toBe('invalid');
  });
});

test('all stores over a PostgreSQL database share one epoch, and clinical writes do not change it', async () => {
  const pool = await postgresPool();
  const [one, other] = [new PostgresStore(pool), new PostgresStore(pool)];
  await system(one);
  const before = await other.accessEpoch();
  const trusted = repositoryOf(one, serverCaller('clinic'));
  const { id } = await trusted.create({ resourceType: 'Patient' });
  expect(await other.accessEpoch()).toBe(before);
  for (const change of [
    () => trusted.delete('Patient', id),
    () => trusted.update({ resourceType: 'AccessPolicy', id: 'p', resource: [{ resourceType: 'Patient' }] }),
    () => revokeSessions({ user: 'u' }, { store: one, caller: serverCaller() }),
  ]) {
    await repositoryOf(one, serverCaller()).update({ resourceType: 'User', id: 'u', firstName: 'U', lastName: 'U' });
    const last = await other.accessEpoch();
    await change();
    expect(await other.accessEpoch()).not.toBe(last);
    expect(await one.accessEpoch()).toBe(await other.accessEpoch());
  }
  await one.close();
  await other.close();
});
