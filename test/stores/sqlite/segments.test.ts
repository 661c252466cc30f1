import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { SearchQuery } from '../../../src/store.js';
import { below, createRandom, keyOf, oneOf, PROJECT, put, queryOf, randomResources } from '../../support/kit.js';
import { SIZES } from '../../../src/stores/segments/run-format.js';
import { THREAD_TUNING } from '../../../src/stores/sqlite/database/tuning.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { TUNING as SCANS } from '../../../src/stores/sqlite/scans/tuning.js';
import { RandomQueries } from '../../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, IS_WHOLE, SEED } from '../../support/chance.js';
import { temporaryFolder } from '../temporary-folder.js';

const file = temporaryFolder();
const [TUNING, USUAL] = [{ ...SEGMENT_TUNING }, { ...SIZES }];
const USUAL_SCANS = { ...SCANS };

beforeEach(() => {
  Object.assign(SEGMENT_TUNING, { size: 40, minSize: 8 });
  Object.assign(SCANS, { narrow: 0, walked: 0, maxWritten: 60 });
});
afterEach(() => {
  Object.assign(SEGMENT_TUNING, TUNING);
  Object.assign(SIZES, USUAL);
  Object.assign(SCANS, USUAL_SCANS);
});

/** Asserts that segments answer a search. They were made before, except for the last few writes. */
async function expectSegments(store: SqliteStore, query: SearchQuery): Promise<void> {
  await store.reindex({ pendingOnly: true });
  const [page] = await store.explain({ kind: 'search', query: { ...query, limit: 1, offset: 0 } });
  expect(page!.way).toBe('segments');
}

/** Blocks that are full, and rows of several blocks. Threads do not know these sizes. */
const SMALL = { block: 8, row: 32, frequent: 16, ids: 16 };

/** A file over time, with two stores of one process, as two processes would have it. */
class Life {
  readonly current = new Map<string, AnyResource>();
  readonly erased = new Set<string>();
  stores: readonly SqliteStore[];

  constructor(
    readonly name: string,
    readonly random: () => number,
    readonly readers: number,
  ) {
    this.stores = this.open();
  }

  open(): readonly SqliteStore[] {
    return [this.readers, 0].map((readers) => new SqliteStore(this.name, { readers, synchronous: 'off' }));
  }

  get store(): SqliteStore {
    return oneOf(this.stores, this.random);
  }

  async restart(): Promise<void> {
    for (const one of this.stores) await one.close();
    this.stores = this.open();
  }

  async write(): Promise<void> {
    const made = this.random() < 0.5 ? randomResources(this.random) : skewedResources(60, this.random);
    const some = made.filter(() => this.random() < 0.5);
    const all = [...some, ...some.map((one) => ({ ...one, id: `${one.id!}x${below(9, this.random)}` }))];
    await this.commit([...new Map(all.map((one) => [nameOf(one), one])).values()]);
  }

  /** Ids of erased resources are never used again. */
  async commit(resources: readonly AnyResource[]): Promise<void> {
    const writes = resources.filter((one) => !this.erased.has(nameOf(one))).map((one) => put(one));
    for (const result of await this.store.commit(writes)) {
      if (result.kind === 'put') this.current.set(nameOf(result.resource), result.resource);
    }
  }

  async removeSome(kind: 'delete' | 'erase'): Promise<void> {
    const names = [...this.current.keys()].filter(() => this.random() < 0.05);
    const keyed = names.map((name) => keyOf(...(name.split('/') as [string, string])));
    await this.store.commit(keyed.map((key) => (kind === 'delete' ? { kind, key } : { kind, key, reason: 'request' })));
    for (const name of names) {
      this.current.delete(name);
      if (kind === 'erase') this.erased.add(name);
    }
  }

  async change(): Promise<void> {
    const way = below(9, this.random);
    if (way < 3) await this.write();
    else if (way === 3) await this.removeSome('delete');
    else if (way === 4) await this.removeSome('erase');
    else if (way === 5) await this.restart();
    else if (way === 6) {
      const request = { project: PROJECT, replacedBefore: new Date().toISOString(), keep: 1 };
      for (let after; ;) {
        const { next } = await this.store.removal.purgeHistory({ ...request, after });
        if (next === undefined) break;
        after = next;
      }
    } else if (way === 7) await this.store.reindex(this.random() < 0.5 ? { project: PROJECT } : {});
    // One write stays pending.
    else await this.commit([...this.current.values()].slice(0, 1));
  }
}

function nameOf({ resourceType, id }: AnyResource): string {
  return `${resourceType}/${id!}`;
}

test(`segments answer as the reference search does, at every moment (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let life = 0; life < cases(40, 1); life++) {
    Object.assign(SIZES, life % 2 === 0 ? SMALL : USUAL);
    const one = new Life(file(`life-${life}.db`), random, life % 2 === 0 ? 0 : 2);
    await one.write();
    await one.write();
    for (let round = 0; round < (IS_WHOLE ? 8 : 3); round++) {
      for (let left = below(3, random); left >= 0; left--) await one.change();
      if (random() < 0.7) await one.store.reindex({ pendingOnly: true });
      const reference = new ReferenceSearch(one.store.model, [...one.current.values()]);
      const queries = new RandomQueries(PROJECT, reference, random);
      for (let run = 0; run < (IS_WHOLE ? 9 : 6); run++) {
        const query = run % 3 === 2 ? queries.nested() : queries.search();
        const { matches, total } = await one.store.search(query);
        const answer = { ids: matches.map(({ resource }) => resource.id!), total };
        expect(answer, JSON.stringify(query)).toEqual(reference.search(query));
      }
    }
    expect((await one.store.verify()).problems).toEqual([]);
    for (const store of one.stores) await store.close();
  }
}, 600_000);

const FINAL = { kind: 'match', parameter: 'status', test: { kind: 'token', code: 'final' } } as const;

function observation(id: string, status = 'final'): AnyResource {
  const family = 'Secret family';
  return {
    resourceType: 'Observation',
    id,
    status,
    code: { text: family },
    method: { coding: [{ code: family }] },
  } as never;
}

async function idsOf(store: SqliteStore): Promise<readonly string[]> {
  await expectSegments(store, queryOf('Observation', FINAL));
  const { matches, total } = await store.search(queryOf('Observation', FINAL, { total: true }));
  expect(total).toBe(matches.length);
  return matches.map(({ resource }) => resource.id!);
}

const FIVE = ['a', 'b', 'c', 'd', 'e'].map((id) => put(observation(id)));

/** The ways of a search: of its page, the texts, its count. */
async function waysOf(store: SqliteStore, query: SearchQuery): Promise<readonly unknown[]> {
  return (await store.explain({ kind: 'search', query })).map(({ way }) => way);
}

test('a count takes segments whatever the order, and an explanation says so', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 1 });
  const store = new SqliteStore(new Database(':memory:'));
  await store.commit(FIVE);
  await store.commit([put({ ...observation('f'), valueString: 'long '.repeat(100) } as never)]);
  await store.reindex({ pendingOnly: true });
  const ask = async (query: Partial<SearchQuery>): Promise<unknown> => {
    const asked = queryOf('Observation', FINAL, { total: true, ...query });
    return [await waysOf(store, asked), (await store.search(asked)).total];
  };
  expect(await ask({ limit: 2 })).toEqual([['segments', undefined], 6]);
  expect(await ask({ limit: 0 })).toEqual([['segments'], 6]);
  // Of a long text, segments have the beginning alone.
  const sort = [{ parameter: 'value-string', descending: false }];
  expect(await ask({ limit: 0, sort })).toEqual([['segments'], 6]);
  expect(await ask({ limit: 2, sort })).toEqual([['walk', undefined, 'segments'], 6]);
  SCANS.narrow = 1_000;
  expect(await ask({ limit: 10 })).toEqual([['collect', undefined], 6]);
  await store.close();
});

test('a write of the host that is rolled back leaves nothing in segments', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 1 });
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await store.commit(FIVE);
  expect(await idsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e']);
  await store.commit([put(observation('f'))]);
  database.exec('BEGIN');
  database.exec("DELETE FROM segment_written; UPDATE resource SET content = NULL WHERE id = 'a'");
  database.exec('ROLLBACK');
  expect(await idsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  await store.close();
});

test('after a file was put back to an earlier copy, a living store has the segments of the copy', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 1 });
  const store = new SqliteStore(file('living.db'), { readers: 0 });
  await store.commit(FIVE);
  expect(await idsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e']);
  const database = new Database(file('living.db'));
  database.prepare('VACUUM INTO ?').run(file('copy.db'));
  await store.commit([put(observation('f')), put(observation('a', 'amended'))]);
  expect(await idsOf(store)).toEqual(['b', 'c', 'd', 'e', 'f']);
  database.prepare('ATTACH ? AS kept').run(file('copy.db'));
  const tables = database.prepare("SELECT name FROM kept.sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  database.transaction(() => {
    for (const name of tables.filter((one) => !one.startsWith('sqlite_'))) {
      database.exec(`DELETE FROM main.${name}; INSERT INTO main.${name} SELECT * FROM kept.${name}`);
    }
  })();
  expect(await idsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e']);
  await store.commit([put(observation('g')), put(observation('b', 'amended'))]);
  expect(await idsOf(store)).toEqual(['a', 'c', 'd', 'e', 'g']);
  database.close();
  await store.close();
});

test('an erased value is in no row of a segment', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 1 });
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await store.commit([put(observation('a')), put(observation('b')), put({ ...observation('c'), method: {} } as never)]);
  await idsOf(store);
  const holders = (): unknown =>
    database
      .prepare("SELECT count(*) FROM segment_row WHERE instr(data, CAST('Secret family' AS BLOB)) > 0")
      .pluck()
      .get();
  expect(holders()).toBeGreaterThan(0);
  for (const id of ['a', 'b'])
    await store.commit([{ kind: 'erase', key: keyOf('Observation', id), reason: 'request' }]);
  expect(holders()).toBe(0);
  expect(await idsOf(store)).toEqual(['c']);
  expect(holders()).toBe(0);
  await store.close();
});

test('an erasure rewrites the segment that holds the resource, and leaves the others', async () => {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const many = (start: string, count: number) =>
    Array.from({ length: count }, (_, n) => put(observation(`${start}${n + 10}`)));
  for (const writes of [many('a', 40), many('b', 9)]) {
    await store.commit(writes);
    await idsOf(store);
  }
  const segments = (): readonly string[] =>
    database
      .prepare("SELECT value ->> 'id' FROM segment_list, json_each(list, '$.segments')")
      .pluck()
      .all() as string[];
  const before = segments();
  const write = { kind: 'erase', key: keyOf('Observation', 'b10'), reason: 'request' } as const;
  await store.commit([write, put(observation('h'))]);
  const kept = segments().filter((one) => before.includes(one));
  expect([before.length, kept.length]).toEqual([2, 1]);
  const left = await idsOf(store);
  expect([left.length, left.includes('b10'), left.includes('h')]).toEqual([49, false, true]);
  await store.close();
});

test.each([
  ['a row that is missing', 'DELETE FROM segment_row'],
  ['a row of another content', "UPDATE segment_row SET data = (SELECT data FROM segment_row WHERE name = 'segment')"],
])('verification finds %s', async (_, damage) => {
  Object.assign(SEGMENT_TUNING, { minSize: 1 });
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  await store.commit(FIVE);
  await idsOf(store);
  expect((await store.verify()).problems).toEqual([]);
  database.exec(damage);
  expect((await store.verify()).problems).toEqual(['segments: those of Observation are not what it says']);
  await store.reindex();
  expect(await idsOf(store)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});

test('a verification that takes too long for the event loop moves to a thread', async () => {
  const { inlineMs } = THREAD_TUNING;
  const store = new SqliteStore(file('brief.db'), { synchronous: 'off' });
  await store.commit(FIVE);
  await store.reindex({ pendingOnly: true });
  THREAD_TUNING.inlineMs = 0;
  try {
    expect(await store.verify()).toEqual({ resources: 5, problems: [] });
  } finally {
    THREAD_TUNING.inlineMs = inlineMs;
    await store.close();
  }
});
