import type { Pool } from 'pg';
import { expect, expectTypeOf, test } from 'vitest';
import { PACE } from '../../../src/platform/pace.js';
import { Connections } from '../../../src/stores/postgres/database/connections.js';
import { pglitePool, type PostgresPool, PostgresStore } from '../../../src/postgres.js';
import { idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../../support/kit.js';
import { inTransaction } from '../../../src/stores/postgres/database/transaction.js';
import { sql } from '../../../src/stores/sql/sql.js';
import { expectFewResources } from '../most-resources.js';
import { bareDatabase, postgresPool } from './pool.js';

test('a Pool of pg is accepted', () => {
  expectTypeOf<Pool>().toExtend<PostgresPool>();
});

test('options out of their range are refused', async () => {
  const pool = await postgresPool();
  for (const options of [
    { connectionWait: -1 },
    { cancelWait: 0.5 },
    { attempts: 0 },
    { partitions: 1.5 },
    { readOwnWrites: Number.NaN },
  ]) {
    expect(() => new PostgresStore(pool, options)).toThrow(expect.objectContaining({ code: 'invalid' }));
  }
});

test('statements of a commit are not compiled, and other statements of the connection may be', async () => {
  const pool = await postgresPool();
  await new PostgresStore(pool).pendingParameters('p');
  const connections = new Connections(pool, { connectionWait: 1_000, cancelWait: 1_000 });
  const jit = sql`SHOW jit`;
  const [[before]] = (await connections.run(jit)) as [[string]];
  for (const serializable of [false, true]) {
    const rows = await inTransaction(connections, { serializable, attempts: 1 }, (transaction) => transaction.run(jit));
    expect(rows).toEqual([['off']]);
  }
  expect([before, await connections.run(jit)]).toEqual(['on', [['on']]]);
});

test('a call waits for a connection at most for its limit, and later calls are not lost', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool, { connectionWait: 30 });
  await putAll(store, resourceOf('Patient', 'a'));
  const held = await pool.connect();
  await expect(store.read([keyOf('Patient', 'a')])).rejects.toMatchObject({
    code: 'unavailable',
    message: 'No connection to PostgreSQL became free within 30 ms; try again',
  });
  await expect(putAll(store, resourceOf('Patient', 'b'))).rejects.toMatchObject({ code: 'unavailable' });
  held.release();
  expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
});

test('a pool that cannot connect makes calls unavailable, until it can', async () => {
  const working = await postgresPool();
  let broken = true;
  const store = new PostgresStore({
    connect: () =>
      broken ? Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })) : working.connect(),
  });
  await expect(putAll(store, resourceOf('Patient', 'a'))).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The connection to PostgreSQL was lost or could not be made',
  });
  broken = false;
  await putAll(store, resourceOf('Patient', 'a'));
});

test('a signal ends a call that waits for a connection', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  await putAll(store, resourceOf('Patient', 'a'));
  const held = await pool.connect();
  const controller = new AbortController();
  const call = store.read([keyOf('Patient', 'a')], { signal: controller.signal });
  controller.abort();
  await expect(call).rejects.toMatchObject({ code: 'aborted' });
  held.release();
  expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
});

test('texts longer than an index entry are found whole, by their beginning and by no other text', async () => {
  const store = new PostgresStore(await postgresPool());
  const long = 'ä'.repeat(4_000);
  await putAll(
    store,
    ...[long, `${long}b`, `${long}c`, 'ä'.repeat(256)].map((text, index) =>
      resourceOf('Patient', `p${index}`, {
        name: [{ family: text }],
        identifier: [{ system: text, value: text }],
      }),
    ),
  );
  const found = (test: object, parameter = 'family'): Promise<unknown> =>
    idsOf(store, queryOf('Patient', { kind: 'match', parameter, test } as never));
  const folded = 'a'.repeat(4_000);
  expect(await found({ kind: 'string', comparator: 'equals', text: `${folded}b` })).toEqual(['p1']);
  expect(await found({ kind: 'string', comparator: 'starts-with', text: folded })).toEqual(['p0', 'p1', 'p2']);
  expect(await found({ kind: 'string', comparator: 'starts-with', text: `${folded}c` })).toEqual(['p2']);
  expect(await found({ kind: 'string', comparator: 'equals', text: 'a'.repeat(256) })).toEqual(['p3']);
  expect(await found({ kind: 'string', comparator: 'exact', text: long })).toEqual(['p0']);
  expect(await found({ kind: 'token', code: long }, 'identifier')).toEqual(['p0']);
  expect(await found({ kind: 'token', code: 'ä'.repeat(256) }, 'identifier')).toEqual(['p3']);
  expect(await found({ kind: 'token', system: `${long}b` }, 'identifier')).toEqual(['p1']);
});

test('U+0000 comes before every other character, like elsewhere', async () => {
  const store = new PostgresStore(await postgresPool());
  const families = ['b', 'a\0z', 'a', 'a\tz'];
  await store.commit(families.map((family, index) => put(resourceOf('Patient', `p${index}`, { name: [{ family }] }))));
  const sort = [{ parameter: 'family', descending: false }];
  expect(await idsOf(store, { ...queryOf('Patient'), sort })).toEqual(['p2', 'p1', 'p3', 'p0']);
});

test('U+0000, which PostgreSQL cannot store, is kept in resources and replaced elsewhere', async () => {
  const store = new PostgresStore(await postgresPool());
  await store.commit([put(resourceOf('Patient', 'a', { name: [{ family: 'x\0y' }] }), { unique: ['k\0'] })]);
  const [read] = await store.read([keyOf('Patient', 'a')]);
  expect(read).toMatchObject({ resource: { name: [{ family: 'x\0y' }] } });
  const test = { kind: 'string', comparator: 'exact', text: 'x\0y' } as const;
  expect(await idsOf(store, queryOf('Patient', { kind: 'match', parameter: 'family', test }))).toEqual(['a']);
});

test('two stores can prepare one database; a database that a newer version wrote is refused', async () => {
  const database = await bareDatabase();
  const stores = [new PostgresStore(pglitePool(database)), new PostgresStore(pglitePool(database))];
  // One connection is shared, so the stores take turns.
  for (const store of stores) await putAll(store, resourceOf('Patient', 'a'));
  expect((await stores[0]!.history(keyOf('Patient', 'a'), { offset: 0, limit: 5 })).total).toBe(2);
  await database.exec("UPDATE fhirgraph_meta SET value = '99' WHERE name = 'schema_version'");
  await expect(new PostgresStore(pglitePool(database)).read([])).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('schema version 99') as string,
  });
});

test('tables of another application are not touched', async () => {
  const database = await bareDatabase();
  await database.exec('CREATE TABLE token (secret text)');
  await expect(new PostgresStore(pglitePool(database)).read([])).rejects.toMatchObject({ code: 'conflict' });
  const { rows } = await database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  expect(rows).toEqual([{ tablename: 'token' }]);
  await bareDatabase();
});

test('a position that does not fit the sort is an error of the caller', async () => {
  const store = new PostgresStore(await postgresPool());
  const query = queryOf('Patient', undefined, {
    sort: [{ parameter: 'birthdate', descending: false }],
    after: { values: ['not a date'], id: 'a' },
  });
  await expect(store.search(query)).rejects.toMatchObject({ code: 'invalid' });
});

test('a connection of PGlite that is abandoned in a transaction is rolled back before the next caller has it', async () => {
  const database = await bareDatabase();
  const pool = pglitePool(database);
  const first = await pool.connect();
  const rowsOf = async (text: string, client = first): Promise<unknown> =>
    (await client.query({ text, values: [], rowMode: 'array' })).rows;
  await rowsOf('CREATE TABLE given (up int)');
  await rowsOf('BEGIN');
  // It still works when it is abandoned.
  const insert = rowsOf('INSERT INTO given VALUES (1)');
  first.release(true);
  const second = await pool.connect();
  expect(await rowsOf('SELECT * FROM given', second)).toEqual([]);
  second.release();
  await insert;
  await bareDatabase();
});

test('a search by reference that finds more than maxResources is refused', async () => {
  await expectFewResources(new PostgresStore(await postgresPool()));
});

test('a large commit is prepared in turns, and its signal ends it there', async () => {
  const pool = await postgresPool();
  let connections = 0;
  const store = new PostgresStore({
    connect: () => {
      connections++;
      return pool.connect();
    },
  });
  await putAll(store, resourceOf('Patient', 'a'));
  connections = 0;
  const { turnMs } = PACE;
  PACE.turnMs = 0;
  const controller = new AbortController();
  setImmediate(() => controller.abort());
  const writes = Array.from({ length: 100 }, (_, n) => put(resourceOf('Patient', `p${n}`)));
  await expect(store.commit(writes, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
  PACE.turnMs = turnMs;
  expect(connections).toBe(0);
  expect(await idsOf(store, queryOf('Patient'))).toEqual(['a']);
});

test('a resource that a read has just not found is written without another look-up, and looked up if it exists by then', async () => {
  const database = await bareDatabase();
  const looks: string[] = [];
  const store = new PostgresStore(
    pglitePool({
      query: (text, values, options) => {
        if (text.startsWith("SELECT replace(r.key::text, '-', ''), r.type")) looks.push(text);
        return database.query(text, values, options);
      },
    }),
  );
  const other = new PostgresStore(pglitePool(database));
  const names = Array.from({ length: 30 }, (_, n) => `p${n}`);
  const write = (one: PostgresStore): Promise<readonly unknown[]> =>
    putAll(one, ...names.map((id) => resourceOf('Patient', id, { active: true })));
  const read = (): Promise<readonly { readonly status: string }[]> =>
    store.read(names.map((id) => keyOf('Patient', id)));
  expect(new Set((await read()).map(({ status }) => status))).toEqual(new Set(['missing']));
  await write(store);
  expect(looks.length).toBe(0);
  await write(store);
  expect(looks.length).toBe(1);
  names.forEach((_, n) => (names[n] = `q${n}`));
  await read();
  await write(other);
  expect(await write(store)).toMatchObject(names.map(() => ({ created: false, versionId: '2' })));
  expect(looks.length).toBe(2);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});

test.each(['25P03', '25P04'])(
  'a session that the server ended is unavailable, and left to no other call (%s)',
  async (code) => {
    const pool = await postgresPool();
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'a'));
    const released: unknown[] = [];
    const ending: PostgresPool = {
      ...pool,
      async connect() {
        const client = await pool.connect();
        return {
          query: (statement) => {
            if (!/FROM resource|INTO resource/.test(statement.text)) return client.query(statement);
            return Promise.reject(Object.assign(new Error('ended'), { code, severity: 'FATAL' }));
          },
          release: (broken) => {
            released.push(broken);
            client.release();
          },
        };
      },
    };
    const ended = new PostgresStore(ending);
    await ended.accessEpoch();
    released.length = 0;
    const error = { code: 'unavailable', message: expect.stringContaining('PostgreSQL ended the session') };
    await expect(ended.read([keyOf('Patient', 'a')])).rejects.toMatchObject(error);
    // The server has rolled the transaction back, so nothing is in doubt.
    await expect(ended.commit([put(resourceOf('Patient', 'b'))])).rejects.toMatchObject({
      ...error,
      details: undefined,
    });
    expect(released).toEqual([true, true]);
    await ended.close();
    await store.close();
  },
);
