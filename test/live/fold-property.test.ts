import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  createRepository,
  type FhirError,
  MemoryStore,
  type Repository,
  type ResourceEvent,
  type ResourceStore,
  serverCaller,
  signIn,
} from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { withoutVersion } from '../../src/live/live-event.js';

import { member, type MemberSetup } from '../access/policies.js';
import { QUESTIONS, type Question } from '../access/questions.js';
import { ALL_KEYS, fill, plain, projectContent, resourceOf, type Json } from '../access/world.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { cases, IS_LONG, IS_WHOLE, SEED } from '../support/chance.js';
import { namedStores } from '../support/named-stores.js';
import { until } from '../support/until.js';

const CASES = IS_LONG ? 200 : IS_WHOLE ? 20 : 3;

/** A commit of some resources, or their deletion. After some, readers break off and go on. */
interface Step {
  readonly writes: readonly { readonly resource: AnyResource; readonly isDeleted: boolean }[];
  readonly isBreak: boolean;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  writes: fc.array(
    fc
      .constantFrom(...ALL_KEYS)
      .chain(({ type, id }) =>
        fc.record({ resource: resourceOf(type, id), isDeleted: fc.constantFrom(false, false, false, true) }),
      ),
    { minLength: 1, maxLength: 4 },
  ),
  isBreak: fc.constantFrom(false, false, true),
});

const CASE = fc.record({
  setups: fc.array(member({ writes: false }), { minLength: 8, maxLength: 8 }),
  content: projectContent,
  steps: fc.array(STEP, { minLength: 10, maxLength: 30 }),
  questions: fc.subarray([...QUESTIONS], { minLength: 2, maxLength: 4 }),
});

const STORES = namedStores([
  ['memory', SEED, CASES, () => new MemoryStore()],
  ['SQLite', SEED + 1, CASES, () => new SqliteStore(':memory:')],
  // A tenth of the speed.
  ['PostgreSQL', SEED + 2, Math.ceil(CASES / 20), async () => new PostgresStore(await postgresPool())],
] as const);

describe.each(STORES)('on a %s store', (_, seed, runs, open) => {
  test('eight readers with different policies who apply the events have what a search finds, and hear of nothing else', async () => {
    let followed = 0;
    const check = async (drawn: typeof CASE extends fc.Arbitrary<infer Drawn> ? Drawn : never): Promise<void> => {
      const store: ResourceStore = await open();
      try {
        await fill(store, 'alpha', drawn.content);
        const readers: Reader[] = [];
        for (const [index, setup] of drawn.setups.entries()) {
          await enrolAs(store, `m${index}`, setup);
          for (const question of drawn.questions) readers.push(new Reader(store, `m${index}`, question));
        }
        for (const reader of readers) await reader.begin();
        const open = readers.filter(({ isRefused }) => !isRefused);
        followed += open.length;
        for (const { writes, isBreak } of drawn.steps) {
          await commit(store, writes);
          for (const reader of open) await reader.see();
          if (isBreak) for (const reader of open) await reader.goOn();
        }
        for (const reader of open) await reader.catchUp();
      } finally {
        await store.close();
      }
    };
    await fc.assert(fc.asyncProperty(CASE, check), { numRuns: cases(runs), seed, endOnFailure: true });
    expect(followed).toBeGreaterThan(0);
  });
});

/** A client that follows a search. */
class Reader {
  isRefused = false;
  #repository!: Repository;
  /** What it believes to match. */
  readonly #known = new Map<string, unknown>();
  /** What matched at some time. */
  readonly #visible = new Set<string>();
  /** What it heard of. */
  readonly #told = new Set<string>();
  #events!: AsyncGenerator<ResourceEvent<AnyResource>>;
  #position: string | undefined;
  #failure: unknown;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: ResourceStore,
    private readonly membership: string,
    private readonly question: Question,
  ) {}

  async begin(): Promise<void> {
    this.#failure = undefined;
    const caller = await signIn(this.store, { membership: this.membership });
    this.#repository = createRepository({ store: this.store, caller });
    try {
      this.#subscribe();
    } catch (error) {
      // Chains, `_has`, and rules with them.
      expect(error).toMatchObject({ code: 'unsupported' });
      this.isRefused = true;
      return;
    }
    await this.#readAnew();
  }

  /** Notes what a search finds after a commit: an event may tell of nothing else. */
  async see(): Promise<void> {
    if (this.#failure !== undefined) await this.#beginAnew();
    await this.#search();
  }

  /** Breaks off, and goes on after the last event. */
  async goOn(): Promise<void> {
    await this.#events.return(undefined);
    await this.#reading;
    this.#subscribe(this.#position);
    // Without an event there is no position: it reads anew.
    if (this.#position === undefined) await this.#readAnew();
  }

  async catchUp(): Promise<void> {
    const isUpToDate = async (): Promise<boolean> => {
      if (this.#failure !== undefined) await this.#beginAnew();
      return JSON.stringify(sorted(this.#known)) === JSON.stringify(sorted(await this.#search()));
    };
    await until(isUpToDate);
    expect([...this.#told].filter((id) => !this.#visible.has(id))).toEqual([]);
  }

  /** The rights of a RelatedPerson change with its patient. */
  async #beginAnew(): Promise<void> {
    expect(['reset', 'session-ended']).toContain((this.#failure as FhirError).code);
    this.#position = undefined;
    await this.begin();
    if (this.isRefused) throw new Error('It was not refused before');
  }

  #subscribe(after?: string): void {
    this.#events = this.#repository.subscribe(this.question.type, this.question.rest, { after }) as never;
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    try {
      for await (const { id, resource, position } of this.#events) {
        this.#position = position;
        this.#told.add(id);
        if (resource === undefined) this.#known.delete(id);
        else this.#known.set(id, withoutVersion(resource));
      }
    } catch (error) {
      this.#failure = error;
    }
  }

  async #readAnew(): Promise<void> {
    const found = await this.#search();
    this.#known.clear();
    for (const [id, resource] of found) this.#known.set(id, resource);
  }

  async #search(): Promise<ReadonlyMap<string, unknown>> {
    const caller = await signIn(this.store, { membership: this.membership });
    const page = await createRepository({ store: this.store, caller }).search(
      this.question.type,
      `${this.question.rest}&_count=1000`,
    );
    const found = (page.entry ?? []).map(({ resource }) => resource as unknown as AnyResource);
    for (const { id } of found) this.#visible.add(id!);
    return new Map(found.map((resource) => [resource.id!, withoutVersion(resource)]));
  }
}

function sorted(known: ReadonlyMap<string, unknown>): unknown {
  return [...known].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

async function commit(store: ResourceStore, writes: Step['writes']): Promise<void> {
  const last = new Map(writes.map((write) => [`${write.resource.resourceType}/${write.resource.id}`, write]));
  await store.commit(
    [...last.values()].map(({ resource, isDeleted }) => {
      const key = { project: 'alpha', type: resource.resourceType, id: resource.id! };
      const isProfile = ['Patient/p1', 'Practitioner/dr1', 'RelatedPerson/rp1'].includes(`${key.type}/${key.id}`);
      return isDeleted && !isProfile ? { kind: 'delete', key } : { kind: 'put', key, resource };
    }),
  );
}

/** One of several members of a project. */
async function enrolAs(store: ResourceStore, name: string, setup: MemberSetup): Promise<void> {
  const isClient = setup.profile.startsWith('ClientApplication');
  const resources: Json[] = [
    isClient
      ? { resourceType: 'ClientApplication', id: 'app1', name: 'App' }
      : { resourceType: 'User', id: name, firstName: 'Kim', lastName: 'Doe', email: `${name}@example.org` },
    ...setup.policies.map((policy, index) => ({
      resourceType: 'AccessPolicy',
      id: `${name}-${index}`,
      name,
      ...policy,
    })),
    {
      resourceType: 'ProjectMembership',
      id: name,
      project: { reference: 'Project/alpha' },
      user: { reference: isClient ? setup.profile : `User/${name}` },
      profile: { reference: setup.profile },
      access: setup.access.map(({ policy, parameters }) => ({
        policy: { reference: `AccessPolicy/${name}-${policy}` },
        parameter: parameters,
      })),
    },
  ];
  await guardStore(store, serverCaller('alpha')).commit(
    resources.map(plain).map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
}
