import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import type { Write } from '../../src/store.js';
import { createRandom, keyOf, put, putAll, queryOf, resourceOf } from '../support/kit.js';
import { Connections } from '../../src/stores/postgres/database/connections.js';
import { SILENCE } from '../../src/stores/postgres/database/silence.js';
import { inTransaction } from '../../src/stores/postgres/database/transaction.js';
import { sql } from '../../src/stores/sql/sql.js';
import { SEED } from '../support/chance.js';
import { findPostgres, ownerOfServers, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const PROGRAMS = findPostgres();
if (PROGRAMS === undefined) console.warn('No statement is cancelled on PostgreSQL: no server here');

const MAX = 10;
const CALLS = 2_000;
/** The result of a call that its signal ended and that has definitely written nothing. */
const NOTHING = { code: 'aborted', unknown: undefined };

describe.skipIf(PROGRAMS === undefined)('calls ended by their signal on a real PostgreSQL server', () => {
  let certificates: string;
  let server: PostgresServer;
  let pool: pg.Pool;
  let admin: pg.Client;
  /** Holds locks; its view of other connections does not change while its transaction is open. */
  let locking: pg.Client;

  beforeAll(async () => {
    certificates = createCertificate();
    server = await startPostgres(PROGRAMS!, {
      ssl: 'on',
      ssl_cert_file: join(certificates, 'server.crt'),
      ssl_key_file: join(certificates, 'server.key'),
      // No standby exists, so a commit that waits for one waits forever, after it has written.
      synchronous_standby_names: 'nobody',
      synchronous_commit: 'local',
    });
    admin = new pg.Client({ ...server.connection, application_name: 'admin' });
    locking = new pg.Client({ ...server.connection, application_name: 'admin' });
    await Promise.all([admin.connect(), locking.connect()]);
  }, 60_000);
  afterAll(async () => {
    await locking?.end();
    await admin?.end();
    await server?.stop();
    rmSync(certificates, { recursive: true, force: true });
  }, 60_000);
  beforeEach(async () => {
    await locking.query('ROLLBACK');
    await admin.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    pool = new pg.Pool({ ...server.connection, max: MAX });
    return () => pool.end();
  });

  /** How many statements of the pool run, in whatever state. */
  const running = async (condition = "state = 'active'"): Promise<number> => {
    const { rows } = await admin.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'admin' AND ${condition}`,
    );
    return rows[0]!.n;
  };
  const until = async (condition: () => Promise<boolean> | boolean): Promise<void> => {
    while (!(await condition())) await sleep(5);
  };
  const waitingForLocks = (): Promise<number> => running("wait_event_type = 'Lock'");
  const processIds = async (): Promise<readonly number[]> => {
    const { rows } = await admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'admin' ORDER BY pid",
    );
    return rows.map(({ pid }) => pid);
  };
  /** Makes every search of Patients wait, on a connection of its own. */
  const slowDown = (): Promise<unknown> =>
    admin.query(`ALTER TABLE resource RENAME TO resource_;
      CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3600); RETURN true; END';
      CREATE VIEW resource AS SELECT * FROM resource_ WHERE slow()`);
  const speedUp = (): Promise<unknown> =>
    admin.query('DROP VIEW resource; DROP FUNCTION slow; ALTER TABLE resource_ RENAME TO resource');

  test('the server itself ends a statement after its deadline if nobody cancels it', async () => {
    const connections = new Connections(pool, { connectionWait: 60_000, cancelWait: 0 });
    const asleep = connections.snapshot((run) => run(sql`SELECT pg_sleep(3600)`), { deadline: 0 });
    await expect(asleep).rejects.toMatchObject({ code: '57014' });
    await until(async () => (await running()) === 0);
    const { rows } = await pool.query<{ statement_timeout: string }>('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '0' }]);
    connections.close();
  });

  test('the server ends the transactions of a silent process, and waiting calls continue', async () => {
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'a'));
    const connections = new Connections(pool, { connectionWait: 60_000, cancelWait: 60_000 });
    const before = SILENCE.most;
    SILENCE.most = 1_000;
    const rows = sql`SELECT 1 FROM resource WHERE id = 'a' FOR UPDATE`;
    for (const serializable of [false, true]) {
      let written: Promise<unknown> | undefined;
      const silent = inTransaction(connections, { serializable, attempts: 1 }, async (transaction) => {
        await transaction.run(rows);
        await (written = store.commit([put(resourceOf('Patient', 'a'))]));
        return transaction.run(rows);
      });
      await expect(silent).rejects.toThrow('The connection was lost');
      expect(await written).toHaveLength(1);
    }
    const reading = connections.snapshot(async (run) => {
      await run(sql`SELECT 1 FROM resource`);
      await locking.query('BEGIN; LOCK TABLE resource; ROLLBACK');
      return run(sql`SELECT 1 FROM resource`);
    });
    await expect(reading).rejects.toThrow('The connection was lost');
    SILENCE.most = before;
    connections.close();
  });

  test('as many slow searches as the pool has connections, ended together, are cancelled; the next read runs on one of them', async () => {
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'a'));
    await slowDown();
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: MAX }, () => store.search(queryOf('Patient'), { signal }));
    await until(async () => (await running("wait_event = 'PgSleep'")) === MAX);
    const before = await processIds();
    controller.abort();
    expect(await codesOf(calls)).toEqual({ aborted: MAX });
    await until(() => pool.idleCount === MAX);
    expect(await running()).toBe(0);
    await speedUp();
    expect(await store.read([keyOf('Patient', 'a')])).toMatchObject([{ status: 'found' }]);
    expect(await processIds()).toEqual(before);
  });

  test('commits that wait for a locked table, as many as the pool has connections, end together while it stays locked', async () => {
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'a'));
    await locking.query('BEGIN; LOCK TABLE resource IN EXCLUSIVE MODE');
    const controller = new AbortController();
    const { signal } = controller;
    // Smaller commits share a connection.
    const commits = Array.from({ length: 2 * MAX }, (_, index) =>
      store.commit(
        Array.from({ length: 9 }, (_, part) => put(resourceOf('Patient', `p${index}-${part}`))),
        { signal },
      ),
    );
    await until(async () => (await waitingForLocks()) === MAX);
    controller.abort();
    expect(await detailsOf(commits)).toEqual(commits.map(() => NOTHING));
    await until(() => pool.idleCount === pool.totalCount && pool.waitingCount === 0);
    // Reads are allowed beside this lock.
    expect(await store.read([keyOf('Patient', 'a')])).toMatchObject([{ status: 'found' }]);
    await locking.query('ROLLBACK');
    expect((await store.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(1);
  });

  test('a commit that waits for the preparation of its tables, or for a connection, ends with its signal', async () => {
    const store = new PostgresStore(pool);
    await putAll(store, resourceOf('Patient', 'a'));
    await locking.query('BEGIN; LOCK TABLE fhirgraph_meta');
    const controller = new AbortController();
    const { signal } = controller;
    const late = new PostgresStore(pool);
    const preparing = late.commit([put(resourceOf('Patient', 'b'))], { signal });
    await until(async () => (await waitingForLocks()) === 1);
    const held = await Promise.all(Array.from({ length: MAX - 1 }, () => pool.connect()));
    const queued = store.commit([put(resourceOf('Patient', 'c'))], { signal });
    await until(() => pool.waitingCount === 1);
    controller.abort();
    expect(await detailsOf([preparing, queued])).toEqual([NOTHING, NOTHING]);
    for (const client of held) client.release();
    await locking.query('ROLLBACK');
    expect((await late.search(queryOf('Patient', undefined, { limit: 0, total: true }))).total).toBe(1);
  });

  test(`of ${CALLS} statements, no cancel request ends another statement than its own`, async () => {
    const connections = new Connections(pool, { connectionWait: 600_000, cancelWait: 60_000 });
    const random = createRandom(SEED);
    const tally = { cancelled: 0, answered: 0 };
    const caller = async (): Promise<void> => {
      while (tally.cancelled + tally.answered < CALLS) {
        const duration = random() * 0.01;
        const statement = sql`SELECT ${duration}::float8, pg_sleep(${duration})`;
        if (random() < 0.5) {
          // Nothing ends this statement.
          expect(await connections.run(statement)).toEqual([[duration, '']]);
          tally.answered += 1;
          continue;
        }
        const controller = new AbortController();
        const call = codesOf([connections.run(statement, controller.signal)]);
        await sleep(random() * 10);
        controller.abort();
        if ('aborted' in (await call)) tally.cancelled += 1;
        else tally.answered += 1;
      }
    };
    // More than there are connections, so that each goes from hand to hand.
    await Promise.all(Array.from({ length: 2 * MAX }, caller));
    console.log(`${tally.cancelled} statements cancelled, ${tally.answered} answered (seed ${SEED})`);
    expect(tally.cancelled).toBeGreaterThan(CALLS / 10);
    // No connection was dropped: they are the initial connections.
    expect(pool.totalCount).toBe(MAX);
    connections.close();
  });

  test.each(['TLS', 'a Unix-domain socket'])('statements are cancelled over %s too', async (way) => {
    const { rows } = await admin.query<{ folder: string }>(
      "SELECT current_setting('unix_socket_directories') AS folder",
    );
    const over =
      way === 'TLS'
        ? { host: 'localhost', ssl: { ca: readFileSync(join(certificates, 'server.crt'), 'utf8') } }
        : { host: rows[0]!.folder };
    const other = new pg.Pool({ ...server.connection, ...over, max: 1 });
    const connections = new Connections(other, { connectionWait: 60_000, cancelWait: 600_000 });
    const [[encrypted]] = (await connections.run(sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)) as [
      [boolean],
    ];
    expect(encrypted).toBe(way === 'TLS');
    const controller = new AbortController();
    const call = codesOf([connections.run(sql`SELECT pg_sleep(3600)`, controller.signal)]);
    await until(async () => (await running("wait_event = 'PgSleep'")) === 1);
    const before = await processIds();
    controller.abort();
    expect(await call).toEqual({ aborted: 1 });
    expect(await running()).toBe(0);
    expect(await connections.run(sql`SELECT 1`)).toEqual([[1]]);
    expect(await processIds()).toEqual(before);
    await other.end();
  });

  describe('a commit with an unknown result', () => {
    const both = (id: string): Write[] => [put(resourceOf('Patient', id)), put(resourceOf('Patient', id), {}, 'ward')];
    /** One statement, and a transaction of several. */
    const SHAPES: readonly (readonly [string, (id: string) => Write[], string])[] = [
      ['of one statement', (id) => [put(resourceOf('Patient', id))], 'WITH'],
      ['of a transaction', both, 'COMMIT'],
    ];
    const isThere = async (id: string): Promise<boolean> => {
      const [found] = await new PostgresStore(pool).read([keyOf('Patient', id)]);
      return found?.status === 'found';
    };
    /** Its commits wait for a standby that never comes: on this server they are written. */
    const waitingStore = (): { readonly store: PostgresStore; readonly end: () => Promise<void> } => {
      const waiting = new pg.Pool({ ...server.connection, options: '-c synchronous_commit=on', max: 2 });
      return { store: new PostgresStore(waiting, { cancelWait: 200 }), end: () => waiting.end() };
    };
    const waitsForStandby = (statement: string): Promise<boolean> =>
      running(`wait_event = 'SyncRep' AND query LIKE '${statement}%'`).then((count) => count === 1);

    test.each(SHAPES)('%s, ended by its signal, is reported as unknown', async (_, writes, statement) => {
      await putAll(new PostgresStore(pool), resourceOf('Patient', 'a'));
      const { store, end } = waitingStore();
      const controller = new AbortController();
      const commit = store.commit(writes('b'), { signal: controller.signal });
      await until(() => waitsForStandby(statement));
      controller.abort();
      expect(await detailsOf([commit])).toEqual([{ code: 'aborted', unknown: true }]);
      await end();
      expect(await isThere('b')).toBe(true);
    });

    test.each(SHAPES)('%s, with a killed process, is reported as unknown', async (_, writes, statement) => {
      await putAll(new PostgresStore(pool), resourceOf('Patient', 'a'));
      const { store, end } = waitingStore();
      const commit = detailsOf([store.commit(writes('b'))]);
      await until(() => waitsForStandby(statement));
      await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      expect(await commit).toEqual([{ code: 'unavailable', unknown: true }]);
      await end();
      expect(await isThere('b')).toBe(true);
    });

    test('is not one with a process killed between its last statement and COMMIT', async () => {
      await putAll(new PostgresStore(pool), resourceOf('Patient', 'a'));
      let written = 0;
      const store = new PostgresStore({
        async connect() {
          const client = await pool.connect();
          return {
            release: (broken) => client.release(broken),
            on: (event, listener) => client.on(event as 'error', listener),
            off: (event, listener) => client.off(event, listener),
            async query(statement) {
              const answer = await client.query(statement);
              if (!statement.text.startsWith('WITH') || ++written < 2) return answer;
              // events.once would reject with the error that the killed connection emits before it ends.
              const end = new Promise((resolve) => client.once('end', resolve));
              await admin.query(
                `SELECT pg_terminate_backend(${(client as unknown as { processID: number }).processID})`,
              );
              await end;
              return answer;
            },
          };
        },
      });
      expect(await detailsOf([store.commit(both('b'))])).toEqual([{ code: 'unavailable', unknown: undefined }]);
      expect(written).toBe(2);
      expect(await isThere('b')).toBe(false);
    });

    test('is not one that was cancelled or lost while it waited for a lock, before its COMMIT', async () => {
      const store = new PostgresStore(pool);
      await putAll(store, resourceOf('Patient', 'a'), resourceOf('Patient', 'b'));
      await locking.query("BEGIN; SELECT 1 FROM resource WHERE id = 'b' FOR UPDATE");
      const controller = new AbortController();
      const ended = store.commit(both('b'), { signal: controller.signal });
      const lost = detailsOf([store.commit(both('b'))]);
      await until(async () => (await waitingForLocks()) === 2);
      controller.abort();
      expect(await detailsOf([ended])).toEqual([NOTHING]);
      await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      expect(await lost).toEqual([{ code: 'unavailable', unknown: undefined }]);
      await locking.query('ROLLBACK');
      expect((await store.history(keyOf('Patient', 'b'), { offset: 0, limit: 9 })).total).toBe(1);
    });
  });
});

/** How many of the calls ended how. */
async function codesOf(calls: readonly Promise<unknown>[]): Promise<{ readonly [code: string]: number }> {
  const counts: { [code: string]: number } = {};
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === 'rejected' && !(outcome.reason instanceof FhirError)) throw outcome.reason;
    const code = outcome.status === 'fulfilled' ? 'done' : (outcome.reason as FhirError).code;
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

/** The code of each, and whether its result is unknown. */
async function detailsOf(calls: readonly Promise<unknown>[]): Promise<readonly object[]> {
  return (await Promise.allSettled(calls)).map((outcome) => {
    if (outcome.status === 'fulfilled') return { code: 'done' };
    if (!(outcome.reason instanceof FhirError)) throw outcome.reason;
    return { code: outcome.reason.code, unknown: outcome.reason.details?.['unknown'] };
  });
}

/** A folder with a certificate for `localhost`, signed by itself, that the server's user can read. */
function createCertificate(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-certificate-'));
  const args = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const made = spawnSync('openssl', [...args.split(' '), '-keyout', 'server.key', '-out', 'server.crt'], {
    cwd: folder,
  });
  if (made.status !== 0) throw new Error('openssl could not make a certificate', { cause: made.error });
  const owner = ownerOfServers();
  for (const name of owner === undefined ? [] : ['.', 'server.key', 'server.crt']) {
    chownSync(join(folder, name), owner!.uid, owner!.gid);
  }
  return folder;
}
