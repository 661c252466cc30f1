import Database from 'better-sqlite3';
import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { type AnyResource, MemoryStore, type ResourceStore } from '../../../src/index.js';
import { PostgresStore } from '../../../src/postgres.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { positionOf, type SearchPage, type SearchPosition, type SearchQuery, type Write } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, put, queryOf } from '../../support/kit.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { cases, IS_WHOLE, SEED, someOf } from '../../support/chance.js';
import { postgresPool } from '../postgres/pool.js';
import { temporaryFolder } from '../temporary-folder.js';
import { indexPostgres, indexSqlite, readers, useRandomWay, useSmallIndexes, useUsualWay } from './index-work.js';

type Random = () => number;

/** Random data, and questions about them. */
export interface Questions {
  /** Resources of which the same numbers have the same keys. */
  readonly make: (count: number, random: Random) => readonly AnyResource[];
  /** The number of resources, or of what {@link Questions.make} counts. */
  readonly count: number;
  /** A random question; `data` has the current resources. */
  readonly ask: (random: Random, data: ReferenceSearch) => SearchQuery;
  /** Questions that are asked at each moment. */
  readonly always?: readonly SearchQuery[];
  /** Asks something else at each moment, `runs` times. */
  readonly also?: (
    store: ResourceStore,
    current: readonly AnyResource[],
    random: Random,
    runs: number,
  ) => Promise<void>;
}

/** A question with the answer of somebody who counted. */
export type Answered = readonly [query: SearchQuery, expected: { readonly ids?: readonly string[]; total?: number }];

/** A store at its place, which survives the store. */
interface Place {
  readonly open: (clock: () => Date) => ResourceStore;
  /** Brings the index of all types up to date. */
  readonly index: (types: Iterable<string>) => Promise<void>;
}

const fileNamed = temporaryFolder();
afterAll(useUsualWay);

/** The base URL of every store. */
export const OWN = 'https://own.base/fhir';

const PLACES: readonly (readonly [name: string, make: () => Promise<Place>])[] = [
  [
    'SQLite',
    async () => {
      const file = fileNamed(`${randomUUID()}.db`);
      const index = async (): Promise<void> => {
        const database = new Database(file);
        await indexSqlite(database, OWN);
        database.close();
      };
      return { open: (clock) => new SqliteStore(file, { clock, baseUrl: OWN, readers: readers() }), index };
    },
  ],
  [
    'memory',
    async () => {
      const kept: { store?: MemoryStore } = {};
      return {
        open: (clock) => (kept.store ??= new MemoryStore({ clock, baseUrl: OWN })),
        index: async () => undefined,
      };
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const pool = await postgresPool();
      return {
        open: (clock) => new PostgresStore(pool, { clock, baseUrl: OWN, takeOver: true }),
        index: (types) => indexPostgres(pool, types, undefined, OWN),
      };
    },
  ],
];

/** A store, and what it holds according to its own results. */
class World {
  readonly current = new Map<string, AnyResource>();
  readonly #erased = new Set<string>();
  readonly #place: Place;
  readonly #random: Random;
  #store: ResourceStore;
  #now = Date.UTC(2024, 0, 1);

  constructor(place: Place, random: Random) {
    this.#place = place;
    this.#random = random;
    this.#store = place.open(this.#clock);
  }

  get store(): ResourceStore {
    return this.#store;
  }

  readonly #clock = (): Date => new Date(this.#now);

  /** Writes resources in several commits, up to a day apart. */
  async write(resources: readonly AnyResource[], commits: number): Promise<void> {
    const all = new Map(resources.map((one) => [nameOf(one), one]));
    // Nobody can write a resource again that was erased.
    const unique = [...all].flatMap(([name, one]) => (this.#erased.has(name) ? [] : [one]));
    const size = Math.ceil(unique.length / commits);
    for (let start = 0; start < unique.length; start += size) {
      this.#now += oneOf([1, 2, 1_000, DAY / 8, DAY], this.#random);
      const results = await this.#store.commit(unique.slice(start, start + size).map((one) => put(one)));
      for (const one of results) if (one.kind === 'put') this.current.set(nameOf(one.resource), one.resource);
    }
  }

  /** Deletes or erases some resources. */
  async remove(kind: 'delete' | 'erase', count: number): Promise<void> {
    this.#now += 1;
    const names = new Set(Array.from({ length: count }, () => oneOf([...this.current.keys()], this.#random)));
    const writes = [...names].map((name): Write => {
      const { resourceType, id } = this.current.get(name)!;
      const key = keyOf(resourceType, id!);
      return kind === 'delete' ? { kind, key } : { kind, key, reason: 'request' };
    });
    await this.#store.commit(writes);
    for (const name of names) {
      this.current.delete(name);
      if (kind === 'erase') this.#erased.add(name);
    }
  }

  /** Brings the index up to date, and asserts that it is right. */
  async index(): Promise<void> {
    const types = new Set([...this.current.values()].map(({ resourceType }) => resourceType));
    const { store } = this;
    // The first search lets a store make what it needs for any search.
    for (const type of types) await store.search(queryOf(type, undefined, { limit: 1 }));
    await this.#place.index(types);
    if ('verify' in store) expect((await (store as SqliteStore | PostgresStore).verify()).problems).toEqual([]);
  }

  async reopen(): Promise<void> {
    if (!(this.#store instanceof MemoryStore)) await this.#store.close();
    this.#store = this.#place.open(this.#clock);
  }
}

/**
 * Tests that each store gives the answers of a search that reads everything: right after writes, with an index, after further
 * writes, deletions and erasures that the index does not include, after it includes them, and in another process. `npm test`
 * leaves out PostgreSQL and half of the moments.
 */
export function askEverywhere({ make, count, ask, always = [], also }: Questions): void {
  test.each(someOf(PLACES, 1))(
    `%s answers at each moment, seed ${SEED}`,
    async (name, makePlace) => {
      const random = createRandom(SEED);
      useSmallIndexes(random);
      const world = new World(await makePlace(), random);
      // A question takes PostgreSQL in this process ten times as long as the others.
      const runs = name === 'PostgreSQL' ? cases(40, 6) : cases(120, 12);
      const expectAnswers = async (moment: string): Promise<void> => {
        const asker = new Asker(world, moment, random);
        for (const query of always) await asker.assertAnswer(query);
        for (let run = 0; run < runs; run++) await asker.assertAnswer(ask(random, asker.reference));
        await asker.assertPages(ask(random, asker.reference));
        useRandomWay(random);
        await also?.(world.store, [...world.current.values()], random, Math.ceil(runs / 3));
        useUsualWay();
      };
      const change = async (round: number): Promise<void> => {
        await world.remove('delete', 6);
        const replaced = make(count, random).filter(() => random() < 0.06);
        const added = make(9, random).map((one) => ({
          ...one,
          id: `${oneOf(['a', 'o', 'z'], random)}${round}-${one.id}`,
        }));
        await world.write([...replaced, ...added], 3);
      };
      await world.write(make(count, random), 10);
      if (IS_WHOLE) await expectAnswers('right after writes');
      await world.index();
      await expectAnswers('with an index');
      await change(0);
      await expectAnswers('after changes that the index does not include');
      if (IS_WHOLE) {
        await world.index();
        await expectAnswers('with an index of the changes');
      }
      await world.remove('erase', 3);
      await expectAnswers('after an erasure');
      await world.index();
      await change(1);
      await world.reopen();
      await expectAnswers('in another process');
      if (IS_WHOLE) {
        await change(2);
        await world.index();
        await expectAnswers('with an index of all changes');
      }
      await world.store.close();
    },
    LONG_MS,
  );
}

/**
 * Tests that each store gives answers that somebody counted, without an index, with one, and after `later` writes that it does
 * not include, and then does.
 */
export function answerEverywhere(
  name: string,
  data: readonly AnyResource[],
  questions: readonly Answered[],
  later: readonly AnyResource[] = [],
): void {
  test.each(someOf(PLACES, 1))(
    `%s: ${name}`,
    async (_, makePlace) => {
      const random = createRandom(SEED);
      useSmallIndexes(random);
      const world = new World(await makePlace(), random);
      const expectAnswers = async (moment: string): Promise<void> => {
        for (const [query, expected] of questions) {
          for (let run = 0; run < 2; run++) {
            useRandomWay(random);
            const found = answerOf(await world.store.search(query));
            expect([moment, query, found]).toEqual([moment, query, { ...found, ...expected }]);
            useUsualWay();
          }
        }
      };
      await world.write(data, 1);
      if (later.length === 0) await expectAnswers('right after writes');
      await world.index();
      await world.write(later, 1);
      await expectAnswers('with an index of the first writes');
      await world.index();
      await expectAnswers('with an index');
      await world.reopen();
      await expectAnswers('in another process');
      await world.store.close();
    },
    LONG_MS,
  );
}

/** Compares answers about the current resources. */
class Asker {
  #reference: ReferenceSearch | undefined;

  constructor(
    readonly world: World,
    readonly moment: string,
    readonly random: Random,
  ) {}

  get reference(): ReferenceSearch {
    const { store, current } = this.world;
    return (this.#reference ??= new ReferenceSearch(store.model, [...current.values()]));
  }

  /** Asks in a random way; a page sometimes begins or ends at a resource or at a number of them. */
  async assertAnswer(asked: SearchQuery): Promise<readonly string[]> {
    const { reference } = this;
    const query = { ...asked, ...(isWholePage(asked) ? this.#place(asked, reference) : {}) };
    return this.#assert(query, reference);
  }

  /** Asks for one page after the other, in both directions. */
  async assertPages(asked: SearchQuery): Promise<void> {
    const { reference } = this;
    const limit = 1 + below(20, this.random);
    for (const side of ['after', 'before'] as const) {
      let place: SearchPosition | undefined;
      for (let page = 0; page < 5; page++) {
        const ids = await this.#assert(
          { ...asked, offset: undefined, limit, ...(place && { [side]: place }) },
          reference,
        );
        if (ids.length < limit) break;
        const edge = ids.at(side === 'after' || place === undefined ? -1 : 0)!;
        place = positionOf(reference.find(asked.type, edge)!, asked.sort);
      }
    }
  }

  async #assert(query: SearchQuery, reference: ReferenceSearch): Promise<readonly string[]> {
    useRandomWay(this.random);
    const found = answerOf(await this.world.store.search(query));
    useUsualWay();
    const { ids, total } = reference.search(query);
    const expected = { ids: query.limit === 0 ? [] : ids, total: query.total === true ? total : undefined };
    expect([this.moment, query, found]).toEqual([this.moment, query, expected]);
    return found.ids;
  }

  #place({ type, sort }: SearchQuery, reference: ReferenceSearch): Partial<SearchQuery> {
    const subjects = reference.subjects(type);
    if (subjects.length === 0 || this.random() < 0.5) return {};
    const place = positionOf(oneOf(subjects, this.random), sort);
    return oneOf([{ after: place }, { before: place }, { offset: below(subjects.length, this.random) }], this.random);
  }
}

function isWholePage({ limit, offset, after, before }: SearchQuery): boolean {
  return limit !== 0 && (offset ?? after ?? before) === undefined;
}

function answerOf({ matches, total }: SearchPage): {
  readonly ids: readonly string[];
  readonly total: number | undefined;
} {
  return { ids: matches.map(({ resource }) => resource.id!), total };
}

function nameOf({ resourceType, id }: AnyResource): string {
  return `${resourceType}/${id!}`;
}

/** A store in this process that another test still uses would spoil the next one: see `postgresPool`. */
const LONG_MS = 600_000;
const DAY = 86_400_000;
