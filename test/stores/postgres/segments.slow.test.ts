import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { pglitePool, type PostgresClient, type PostgresPool, PostgresStore } from '../../../src/postgres.js';
import { below, createRandom, keyOf, oneOf, PROJECT, put, queryOf, randomResources } from '../../support/kit.js';
import { COPY } from '../../../src/stores/postgres/database/copy-text.js';
import { listOf } from '../../../src/stores/segments/port.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { SIZES } from '../../../src/stores/segments/run-format.js';
import { RandomQueries } from '../../../src/testing/random-queries.js';
import { ReferenceSearch } from '../../../src/testing/reference-search.js';
import { skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, IS_WHOLE, SEED } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { correlatedObservations } from '../correlated-observations.js';
import { modelWith } from '../models.js';
import { by, match, write } from '../queries.js';
import { buildSegments, rowsOf } from './build-segments.js';
import { bareDatabase, noting, postgresPool, through } from './pool.js';

const USUAL = [SEGMENT_TUNING, TUNING, SIZES, COPY].map((tuning) => [tuning, { ...tuning }] as const);

beforeEach(() => {
  Object.assign(SEGMENT_TUNING, { size: 40, minSize: 8 });
  // Every search asks segments.
  Object.assign(TUNING, { look: 0 });
});
afterEach(() => USUAL.forEach(([tuning, usual]) => Object.assign(tuning, usual)));

function open(pool: PostgresPool, options: ConstructorParameters<typeof PostgresStore>[1] = {}): PostgresStore {
  const store = new PostgresStore(pool, options);
  onTestFinished(() => store.close());
  return store;
}

async function countOf(pool: PostgresPool, rows = 'fhirgraph_segment_row'): Promise<number> {
  return Number((await rowsOf(pool, `SELECT count(*) FROM ${rows}`))[0]![0]);
}

async function rowsWith(client: PostgresClient, text: string): Promise<readonly (readonly unknown[])[]> {
  return (await client.query({ text, values: [], rowMode: 'array' })).rows;
}

const complete = (pool: PostgresPool): Promise<number> => countOf(pool, 'fhirgraph_segment_list WHERE complete');

function nameOf({ resourceType, id }: AnyResource): string {
  return `${resourceType}/${id!}`;
}

/** A database over time, with two stores, as two processes would have it. */
class Life {
  readonly current = new Map<string, AnyResource>();
  readonly erased = new Set<string>();
  stores: readonly PostgresStore[];

  constructor(
    readonly pool: PostgresPool,
    readonly random: () => number,
  ) {
    this.stores = [new PostgresStore(pool), new PostgresStore(pool)];
  }

  get store(): PostgresStore {
    return oneOf(this.stores, this.random);
  }

  async close(): Promise<void> {
    for (const one of this.stores) await one.close();
  }

  async write(): Promise<void> {
    const made = this.random() < 0.5 ? randomResources(this.random) : skewedResources(60, this.random);
    const some = made.filter(() => this.random() < 0.5);
    const all = [...some, ...some.map((one) => ({ ...one, id: `${one.id!}x${below(9, this.random)}` }))];
    await this.commit([...new Map(all.map((one) => [nameOf(one), one])).values()]);
  }

  /** Ids of erased resources are never used again. */
  async commit(resources: readonly AnyResource[]): Promise<void> {
    COPY.fromRows = oneOf([1, Infinity], this.random);
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
    const way = below(10, this.random);
    if (way < 3) await this.write();
    else if (way === 3) await this.removeSome('delete');
    else if (way === 4) await this.removeSome('erase');
    else if (way === 5) {
      await this.close();
      this.stores = [new PostgresStore(this.pool), new PostgresStore(this.pool)];
    } else if (way === 6) {
      const request = { project: PROJECT, replacedBefore: new Date().toISOString(), keep: 1 };
      for (let after; ;) {
        const { next } = await this.store.removal.purgeHistory({ ...request, after });
        if (next === undefined) break;
        after = next;
      }
    } else if (way === 7) await this.store.reindex();
    else if (way === 8)
      await buildSegments(this.pool, new Set([...this.current.values()].map((one) => one.resourceType)));
    // One write stays pending.
    else await this.commit([...this.current.values()].slice(0, 1));
  }
}

test(`segments answer as the reference search does, at every moment (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  for (let life = 0; life < cases(20, 1); life++) {
    if (life % 2 === 0) Object.assign(SIZES, { block: 8, row: 32, frequent: 16, ids: 16 });
    const one = new Life(await postgresPool(), random);
    await one.write();
    await one.write();
    await buildSegments(one.pool, new Set([...one.current.values()].map(({ resourceType }) => resourceType)));
    for (let round = 0; round < (IS_WHOLE ? 8 : 3); round++) {
      for (let left = below(3, random); left >= 0; left--) await one.change();
      const reference = new ReferenceSearch(one.store.model, [...one.current.values()]);
      const queries = new RandomQueries(PROJECT, reference, random);
      for (let run = 0; run < 6; run++) {
        const query = run % 3 === 2 ? queries.nested() : queries.search();
        const { matches, total } = await one.store.search(query);
        const answer = { ids: matches.map(({ resource }) => resource.id!), total };
        expect(answer, JSON.stringify(query)).toEqual(reference.search(query));
      }
    }
    expect((await one.store.verify()).problems).toEqual([]);
    await one.close();
    for (const [tuning, usual] of USUAL.slice(2)) Object.assign(tuning, usual);
  }
}, 600_000);

const LATEST = { sort: [by('date', true)], limit: 10, total: true };

async function filled(count = 100): Promise<{ readonly pool: PostgresPool; readonly store: PostgresStore }> {
  const pool = await postgresPool();
  const store = open(pool);
  await write(store, correlatedObservations(count));
  await buildSegments(pool, ['Observation']);
  expect(await complete(pool)).toBe(1);
  return { pool, store };
}

test('a broad search reads the state of segments, their rows, and the texts of its page', async () => {
  const { pool } = await filled();
  const statements: string[] = [];
  const store = open(noting(pool, statements));
  const ask = async (): Promise<number> => {
    statements.length = 0;
    await store.search(queryOf('Observation', match('status', 'final'), LATEST));
    expect(statements.some((text) => text.includes('fhirgraph_segment_list'))).toBe(true);
    expect(statements.some((text) => text.includes('fhirgraph_segment_row'))).toBe(statements.length > 12);
    return statements.length;
  };
  await ask();
  statements.length = 0;
  await store.search(queryOf('Observation', match('status', 'final'), LATEST));
  // What was read is kept.
  expect(statements.filter((text) => text.includes('fhirgraph_segment_row'))).toEqual([]);
  expect(statements.filter((text) => text.includes('FROM token'))).toHaveLength(2);
});

test('a count takes segments whatever the order, and an explanation says so', async () => {
  const { pool, store } = await filled();
  await store.commit([put({ ...secret('f'), valueString: 'long '.repeat(100) } as never)]);
  await buildSegments(pool, ['Observation']);
  const statements: string[] = [];
  const other = open(noting(pool, statements));
  const ask = async (query: object): Promise<unknown> => {
    const asked = queryOf('Observation', match('status', 'final'), { total: true, ...query });
    const plans = await other.explain({ kind: 'search', query: asked });
    statements.length = 0;
    const { total } = await other.search(asked);
    expect(statements.filter((text) => text.includes('SELECT count(*)') && !text.includes('LIMIT'))).toEqual([]);
    return [plans.map(({ way }) => way), total];
  };
  const [, total] = (await ask({ limit: 2 })) as [unknown, number];
  expect(await ask({ limit: 2 })).toEqual([['segments'], total]);
  expect(await ask({ limit: 0 })).toEqual([['segments'], total]);
  const sort = [by('value-string')];
  expect(await ask({ limit: 0, sort })).toEqual([['segments'], total]);
  expect(await ask({ limit: 2, sort })).toEqual([['collect', 'segments'], total]);
});

test.each([1, Infinity])(
  'commits note their writes, of types with segments only (COPY from %i rows)',
  async (fromRows) => {
    const { pool, store } = await filled();
    COPY.fromRows = fromRows;
    await write(store, correlatedObservations(3));
    await store.commit([put({ resourceType: 'Patient', id: 'p' })]);
    expect(await countOf(pool, 'fhirgraph_segment_written')).toBe(3);
    await store.commit([{ kind: 'delete', key: keyOf('Observation', 'o000000') }]);
    expect(await countOf(pool, 'fhirgraph_segment_written')).toBe(4);
    await buildSegments(pool, ['Observation']);
    expect(await countOf(pool, 'fhirgraph_segment_written')).toBe(0);
    expect((await store.verify()).problems).toEqual([]);
  },
);

test('segments are made after writes, and after a search that lacked them', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 50 });
  const pool = await postgresPool();
  const store = open(pool);
  await write(store, correlatedObservations(49));
  await store.search(queryOf('Observation', match('status', 'final'), LATEST));
  await store.close();
  expect(await countOf(pool, 'fhirgraph_segment_list')).toBe(0);
  const other = open(pool);
  await write(other, correlatedObservations(51));
  await until(async () => (await complete(pool)) === 1);
  await rowsOf(pool, 'DELETE FROM fhirgraph_segment_list');
  await other.search(queryOf('Observation', match('status', 'final'), LATEST));
  await until(async () => (await complete(pool)) === 1);
  await other.search(queryOf('Observation', match('status', 'final'), LATEST));
});

test('a type that a search of a larger one leads to has segments, however small', async () => {
  Object.assign(SEGMENT_TUNING, { minSize: 50 });
  const pool = await postgresPool();
  const store = open(pool);
  await store.commit([put({ resourceType: 'Patient', id: 'p0', gender: 'male' } as never)]);
  await write(store, correlatedObservations(60));
  await until(async () => (await complete(pool)) === 1);
  const of = match('gender', 'male');
  const query = queryOf('Observation', { kind: 'chain', parameter: 'subject', type: 'Patient', of }, LATEST);
  const { total } = await store.search(query);
  await until(async () => (await complete(pool)) === 2);
  expect((await store.search(query)).total).toBe(total);
});

test('segments of other definitions are built again after a search by a changed parameter', async () => {
  const { pool, store } = await filled();
  await store.close();
  const idsIn = async (): Promise<readonly string[]> => {
    const [[list] = []] = await rowsOf(pool, 'SELECT list FROM fhirgraph_segment_list');
    return listOf(list as string).segments.map(({ id }) => id);
  };
  const before = await idsIn();
  const model = modelWith('Observation', { status: { type: 'string' } });
  const owner = open(pool, { model, takeOver: true });
  const test = { kind: 'string', comparator: 'starts-with', text: 'fin' } as const;
  const query = queryOf('Observation', { kind: 'match', parameter: 'status', test }, LATEST);
  const { total } = await owner.search(query);
  await until(async () => (await idsIn()).every((id) => !before.includes(id)));
  expect((await owner.search(query)).total).toBe(total);
  // Other tests share the database.
  await open(pool, { takeOver: true }).read([]);
});

test('a store that closes finishes a part of the work, and one that only reads does none', async () => {
  const pool = await postgresPool();
  await write(open(pool), correlatedObservations(10));
  const reader = open(pool, { readonly: true });
  await reader.search(queryOf('Observation', match('status', 'final'), LATEST));
  await reader.close();
  expect(await complete(pool)).toBe(0);
  const store = open(pool);
  await store.search(queryOf('Observation', match('status', 'final'), LATEST));
  await store.close();
  expect(await complete(pool)).toBe(1);
});

const SECRET = 'Secret family';

function secret(id: string, status = 'final'): AnyResource {
  return { resourceType: 'Observation', id, status, method: { coding: [{ code: SECRET }] } } as never;
}

test('an erasure rewrites the segments that hold the resource, also an earlier version of it, and leaves the others', async () => {
  const pool = await postgresPool();
  const store = open(pool);
  const plain = (id: string): AnyResource => ({ resourceType: 'Observation', id, status: 'final' }) as never;
  const many = (start: string, count: number) => Array.from({ length: count }, (_, n) => plain(`${start}${n + 10}`));
  await write(store, [...many('a', 40)]);
  await buildSegments(pool, ['Observation']);
  await write(store, [secret('b'), secret('c'), ...many('d', 7)]);
  await buildSegments(pool, ['Observation']);
  // The segment holds its earlier version, too.
  await write(store, [plain('b')]);
  const segments = async (): Promise<readonly unknown[]> =>
    (await rowsOf(pool, 'SELECT DISTINCT segment FROM fhirgraph_segment_row ORDER BY 1')).map(([id]) => id);
  const before = await segments();
  expect(before).toHaveLength(2);
  const holders = (): Promise<number> =>
    countOf(pool, `fhirgraph_segment_row WHERE position('${SECRET}'::bytea IN data) > 0`);
  expect(await holders()).toBeGreaterThan(0);
  for (const id of ['b', 'c'])
    await store.commit([{ kind: 'erase', key: keyOf('Observation', id), reason: 'request' }]);
  expect(await holders()).toBe(0);
  const kept = (await segments()).filter((one) => before.includes(one));
  expect(kept).toHaveLength(1);
  const { total } = await store.search(queryOf('Observation', match('status', 'final'), LATEST));
  expect(total).toBe(47);
  expect((await store.verify()).problems).toEqual([]);
  await store.removal.removeProject(PROJECT);
  for (const table of ['row', 'list', 'written']) expect(await countOf(pool, `fhirgraph_segment_${table}`)).toBe(0);
});

test('a purge removes the segments of its type if they can hold a purged version', async () => {
  const { pool, store } = await filled();
  const replacedBefore = new Date(Date.now() + 60_000).toISOString();
  await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
  expect(await complete(pool)).toBe(1);
  await write(store, correlatedObservations(1));
  await store.removal.purgeHistory({ project: PROJECT, keep: 1, replacedBefore });
  expect([await complete(pool), await countOf(pool)]).toEqual([0, 0]);
});

test('a segment that another process overtakes is not stored, and made again', async () => {
  const { pool, store } = await filled();
  // It would do the work as well.
  await store.close();
  let isErased = false;
  const interrupted = through(pool, async (statement, client) => {
    // As if another process had replaced the list meanwhile.
    if (!isErased && statement.text.includes('INSERT INTO fhirgraph_segment_row')) {
      isErased = true;
      await client.query({ text: "UPDATE fhirgraph_segment_list SET id = 'other'", values: [], rowMode: 'array' });
    }
    return client.query(statement);
  });
  const before = await countOf(pool);
  const other = open(interrupted);
  await other.search(queryOf('Observation', match('status', 'final'), LATEST));
  await write(other, correlatedObservations(8));
  await until(() => isErased);
  await until(async () => (await countOf(pool, 'fhirgraph_segment_written')) === 0);
  expect(await countOf(pool)).toBeGreaterThanOrEqual(before);
  expect((await other.verify()).problems).toEqual([]);
});

test.each([
  ['a row that is missing', 'DELETE FROM fhirgraph_segment_row'],
  ['rows of another content', "UPDATE fhirgraph_segment_row SET data = '\\xffff'"],
])('%s is reported by verification; a search takes another way, and the segments are made again', async (_, damage) => {
  const { pool, store: writer } = await filled();
  // It would find the damage, too.
  await writer.close();
  const store = open(pool);
  const query = queryOf('Observation', match('status', 'final'), LATEST);
  const expected = await store.search(query);
  expect((await store.verify()).problems).toEqual([]);
  await rowsOf(pool, damage);
  expect((await store.verify()).problems).toEqual(['segments: those of Observation are not what it says']);
  const other = open(pool);
  expect(await other.search(query)).toEqual(expected);
  await until(async () => (await store.verify()).problems.length === 0 && (await complete(pool)) === 1);
  expect(await other.search(query)).toEqual(expected);
});

test('a step leaves the mark of a process that works on the next list', async () => {
  const { pool, store } = await filled();
  await store.close();
  let left: unknown;
  const marked = through(pool, async (statement, client) => {
    if (!statement.text.startsWith('UPDATE fhirgraph_segment_list SET busy = NULL')) return client.query(statement);
    await rowsWith(client, "UPDATE fhirgraph_segment_list SET busy = now() + interval '1 hour'");
    const answer = await client.query(statement);
    left = await rowsWith(client, 'SELECT busy > now() FROM fhirgraph_segment_list');
    await rowsWith(client, 'UPDATE fhirgraph_segment_list SET busy = NULL');
    return answer;
  });
  const other = open(marked);
  await write(other, correlatedObservations(8));
  await until(() => left !== undefined);
  expect(left).toEqual([[true]]);
});

test('reindex() removes the segments of its types, which the next search has made again', async () => {
  const { pool, store } = await filled();
  await store.reindex();
  expect(await countOf(pool)).toBe(0);
  await store.search(queryOf('Observation', match('status', 'final'), LATEST));
  await until(async () => (await complete(pool)) === 1);
});

test('reindex() of a database whose definitions are lost removes the segments, which may be wrong', async () => {
  const { pool, store } = await filled();
  await store.close();
  await rowsOf(pool, "UPDATE fhirgraph_segment_row SET data = '\\xffff'");
  await rowsOf(pool, "UPDATE fhirgraph_meta SET value = '?' WHERE name IN ('index_definitions', 'index_parameters')");
  const owner = open(pool, { takeOver: true, reindex: 'manual' });
  await owner.reindex();
  expect((await owner.verify()).problems).toEqual([]);
  expect(await countOf(pool)).toBe(0);
});

test('a removed project leaves no re-indexing behind', async () => {
  const { pool, store } = await filled();
  await store.close();
  await rowsOf(pool, "UPDATE fhirgraph_meta SET value = '?' WHERE name IN ('index_definitions', 'index_parameters')");
  const owner = open(pool, { takeOver: true, reindex: 'manual' });
  expect(await owner.pendingParameters(PROJECT)).not.toEqual([]);
  while (!(await owner.removal.removeProject(PROJECT)).done);
  expect(await rowsOf(pool, "SELECT value FROM fhirgraph_meta WHERE name = 'index_pending'")).toEqual([['{}']]);
});

test('a database of the version before gets the tables, and refuses the writes of that version', async () => {
  const pool = pglitePool(await bareDatabase());
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const before = open(pool);
  await write(before, correlatedObservations(10));
  await before.close();
  for (const name of ['segment_list', 'segment_row', 'segment_written', 'change'])
    await rowsOf(pool, `DROP TABLE fhirgraph_${name}`);
  await rowsOf(pool, 'DROP SEQUENCE fhirgraph_turn');
  await rowsOf(pool, "DELETE FROM fhirgraph_meta WHERE name = 'feed_secret'");
  await rowsOf(pool, 'ALTER TABLE fhirgraph_writer RENAME COLUMN definitions TO generation');
  await rowsOf(pool, 'ALTER TABLE resource ADD COLUMN shape uuid');
  await rowsOf(pool, 'CREATE TABLE fhirgraph_shape (key uuid)');
  await rowsOf(
    pool,
    'CREATE TABLE fhirgraph_skip_type (project uuid NOT NULL, type text NOT NULL, built int NOT NULL)',
  );
  await rowsOf(pool, "UPDATE fhirgraph_meta SET value = '8' WHERE name = 'schema_version'");
  const later = open(pool, { takeOver: true });
  const query = queryOf('Observation', match('status', 'final'), { limit: 10 });
  expect((await later.search(query)).matches.length).toBeGreaterThan(0);
  await until(async () => (await complete(pool)) === 1);
  expect(await rowsOf(pool, "SELECT 1 FROM pg_class WHERE relname = 'fhirgraph_skip_type'")).toEqual([]);
});
