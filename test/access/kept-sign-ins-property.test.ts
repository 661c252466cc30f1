import { expect, test } from 'vitest';
import {
  createRepository,
  type MemberCaller,
  MemoryStore,
  type ResourceStore,
  revokeSessions,
  serverCaller,
  signIn,
  type SignInIdentity,
  systemCaller,
} from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { below, createRandom, oneOf } from '../support/kit.js';
import { OWN_EXTENSIONS, withExtensions } from '../../src/fhir/own-extensions.js';
import { cases, SEED } from '../support/chance.js';
import { namedStores } from '../support/named-stores.js';
import { storeWith } from '../support/store-with.js';

// Sign-ins over a store that caches them have the results of a view of it without a cache, whatever happened before.

const PROJECT = 'clinic';
const START = Date.parse('2030-01-01T00:00:00Z');
const PEOPLE = ['ann', 'bob', 'cy'] as const;
const PROFILES = { ann: 'Practitioner', bob: 'Patient', cy: 'RelatedPerson' } as const;

class World {
  now = START;
  readonly #repository;

  constructor(
    readonly store: ResourceStore,
    readonly random: () => number,
  ) {
    this.#repository = createRepository({ store, caller: serverCaller(PROJECT), validation: 'none' } as never);
  }

  async begin(): Promise<void> {
    await this.put({ resourceType: 'Project', id: PROJECT, name: 'Clinic' });
    await this.put({ resourceType: 'Patient', id: 'ward' });
    for (const id of ['one', 'two']) await this.policy(id);
    for (const person of PEOPLE) {
      await this.put({ resourceType: 'User', id: person, firstName: person, lastName: 'Lee' });
      await this.profile(person);
      await this.membership(person);
    }
  }

  put(resource: object): Promise<unknown> {
    return this.#repository.update(resource as never);
  }

  delete(type: string, id: string): Promise<unknown> {
    const project = type === 'User' || type === 'Project' ? '' : PROJECT;
    return this.store.commit([{ kind: 'delete', key: { project, type, id } }]);
  }

  policy(id: string): Promise<unknown> {
    const types = ['Patient', 'Observation', 'Encounter'].filter(() => this.random() < 0.5);
    const resource = types.map((resourceType) => ({
      resourceType,
      criteria: `${resourceType}?_id=${below(3, this.random)}`,
    }));
    return this.put({ resourceType: 'AccessPolicy', id, resource });
  }

  profile(person: (typeof PEOPLE)[number]): Promise<unknown> {
    const patient = { reference: this.random() < 0.5 ? 'Patient/ward' : 'Patient/bob' };
    const period = { end: new Date(START + below(6, this.random) * 86_400_000).toISOString() };
    const resourceType = PROFILES[person];
    return this.put({ resourceType, id: person, ...(resourceType === 'RelatedPerson' ? { patient, period } : {}) });
  }

  membership(person: (typeof PEOPLE)[number]): Promise<unknown> {
    const { random } = this;
    const resource = {
      resourceType: 'ProjectMembership',
      id: person,
      project: { reference: `Project/${PROJECT}` },
      user: { reference: `User/${person}` },
      profile: { reference: `${PROFILES[person]}/${person}` },
      active: random() < 0.8,
      externalId: `${person}@idp`,
      ...(random() < 0.3 ? { admin: true } : {}),
      ...(random() < 0.6 ? { accessPolicy: { reference: `AccessPolicy/${oneOf(['one', 'two'], random)}` } } : {}),
    };
    const ends = random() < 0.3 ? [{ valueInstant: new Date(this.now + 3_000).toISOString() }] : [];
    return this.put(withExtensions(resource as never, OWN_EXTENSIONS.accessExpires, ends));
  }

  /** One random change: of access, of clinical data, or of the time. */
  async change(): Promise<void> {
    const { random, store } = this;
    const person = oneOf(PEOPLE, random);
    const clock = (): Date => new Date(this.now);
    const changes: readonly (() => Promise<unknown>)[] = [
      () => this.membership(person),
      () => this.membership(person),
      () => this.delete('ProjectMembership', person),
      () => this.policy(oneOf(['one', 'two'], random)),
      () => this.delete('AccessPolicy', oneOf(['one', 'two'], random)),
      () => this.put({ resourceType: 'User', id: person, firstName: 'New', lastName: 'Lee' }),
      () => this.delete('User', person),
      () => this.profile(person),
      () => this.profile(person),
      () => this.delete(PROFILES[person], person),
      () => this.put({ resourceType: 'Project', id: PROJECT, name: 'Clinic', active: random() < 0.7 }),
      () => revokeSessions({ user: `User/${person}` }, { store, caller: serverCaller(), clock }),
      () => revokeSessions({ membership: person }, { store, caller: systemCaller(PROJECT), clock }),
      () => this.put({ resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' } }),
      async () => void (this.now += below(2, random) * 86_400_000 + below(4_000, random)),
    ];
    // Members that are gone cannot be changed.
    await oneOf(changes, random)().catch(() => undefined);
  }
}

/** The result of a sign-in: its error, or the rights of the caller. */
async function outcome(
  store: ResourceStore,
  identity: SignInIdentity,
  { now, issued, requirePolicy }: { readonly now: number; readonly issued: number; readonly requirePolicy: boolean },
): Promise<unknown> {
  const options = { clock: () => new Date(now), issuedAt: new Date(issued), requirePolicy };
  return signIn(store, identity, options).then(describeCaller, (error: { code: string; message: string }) => [
    error.code,
    error.message,
  ]);
}

function describeCaller({ rules, ...caller }: MemberCaller): unknown {
  const granted = ['Patient', 'Observation', 'Encounter', 'AccessPolicy', 'ProjectMembership'].map((type) =>
    JSON.stringify(rules.rulesFor(type).map(({ criteria, interactions }) => [criteria, [...interactions]])),
  );
  return { ...caller, powers: caller.powers && [...caller.powers], granted };
}

const STORES = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(':memory:')],
] as const;

test.each(namedStores(STORES))('kept sign-ins equal fresh sign-ins after random changes, over %s', async (_, open) => {
  const kept = { count: 0 };
  for (let round = 0; round < cases(20, 3); round += 1) {
    const random = createRandom(SEED + round);
    const store = open();
    const world = new World(store, random);
    await world.begin();
    const plain = storeWith(store, {});
    let searches = 0;
    const keeping = storeWith(store, {
      readsAreCurrent: true,
      accessEpoch: (options) => store.accessEpoch(options),
      search: (query, options) => ((searches += 1), store.search(query, options)),
    });
    for (let step = 0; step < 40; step += 1) {
      if (random() < 0.6) await world.change();
      for (let time = 0; time < 3; time += 1) {
        const person = oneOf(PEOPLE, random);
        const identity: SignInIdentity = oneOf(
          [
            { project: PROJECT, user: `User/${person}` },
            { project: PROJECT, externalId: `${person}@idp` },
          ],
          random,
        );
        const terms = { now: world.now, issued: world.now - below(3, random) * 1_000, requirePolicy: random() < 0.2 };
        const before = searches;
        const found = await outcome(keeping, identity, terms);
        if (searches === before) kept.count += 1;
        expect(found, `seed ${SEED + round}, step ${step}`).toEqual(await outcome(plain, identity, terms));
      }
    }
    await store.close();
  }
  // The test tests something.
  expect(kept.count).toBeGreaterThan(10);
});
