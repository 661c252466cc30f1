import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AnyResource,
  listMemberships,
  type MemberCaller,
  serverCaller,
  signIn,
  systemCaller,
  updateMember,
} from '../../src/index.js';
import { pglitePool, type PostgresPool, PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { type FhirModel, R4, SERVER_SCOPE } from '../../src/store.js';
import { createRandom, keyOf, PROJECT, put, queryOf, resourceOf } from '../support/kit.js';
import { TUNING as POSTGRES_TUNING } from '../../src/stores/postgres/scans/tuning.js';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { TUNING as SQLITE_TUNING } from '../../src/stores/sqlite/scans/tuning.js';
import { assertSearches, skewedResources } from '../../src/testing/suites/random-searches.js';
import { codeOf, repositoryOf, signedIn, system } from '../repository/harness.js';
import { onceTestEnds } from '../support/after-tests.js';
import { cases, SEED, someOf } from '../support/chance.js';
import { newDatabase } from './postgres/pool.js';
import { buildSegments, rowsOf } from './postgres/build-segments.js';
import { modelWith } from './models.js';
import { indexSqlite } from './questions/index-work.js';
import { write } from './queries.js';
import { temporaryFolder } from './temporary-folder.js';

/** A database that processes have open while it is put back to an earlier copy. */
interface Restorable {
  /** With definitions other than those of R4, the database takes them. */
  open(model?: FhirModel): PostgresStore | SqliteStore;
  keep(): Promise<void>;
  putBack(): Promise<void>;
  index(): Promise<void>;
}

async function onPostgres(): Promise<Restorable> {
  const pool: PostgresPool = pglitePool(await newDatabase());
  const tables = async (): Promise<readonly string[]> => {
    const rows = await rowsOf(pool, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    return rows.map(([name]) => name as string).filter((name) => !name.startsWith('kept_'));
  };
  onceTestEnds(async () => {
    for (const name of await tables()) await rowsOf(pool, `DROP TABLE IF EXISTS kept_${name}`);
  });
  return {
    open: (model = R4) => new PostgresStore(pool, { model, takeOver: model !== R4 }),
    async keep() {
      for (const name of await tables()) await rowsOf(pool, `CREATE TABLE kept_${name} AS SELECT * FROM ${name}`);
    },
    async putBack() {
      for (const name of await tables()) {
        await rowsOf(pool, `DELETE FROM ${name}`);
        await rowsOf(pool, `INSERT INTO ${name} SELECT * FROM kept_${name}`);
      }
    },
    index: () => buildSegments(pool, ['Observation']),
  };
}

const fileNamed = temporaryFolder();
let files = 0;

function onSqlite(): Restorable {
  const file = fileNamed(`${files++}.db`);
  const copy = `${file}.copy`;
  const withFile = async (work: (database: Database.Database) => unknown): Promise<void> => {
    const database = new Database(file);
    await work(database);
    database.close();
  };
  return {
    open: (model = R4) => new SqliteStore(file, { model, synchronous: 'off', takeOver: model !== R4 }),
    keep: async () => withFile((database) => void database.prepare('VACUUM INTO ?').run(copy)),
    // Like SQLite's backup into a file that is in use: other connections see one commit.
    putBack: async () =>
      withFile((database) => {
        database.prepare('ATTACH ? AS kept').run(copy);
        const tables = database.prepare("SELECT name FROM kept.sqlite_schema WHERE type = 'table'").pluck().all();
        database.transaction(() => {
          for (const name of (tables as string[]).filter((one) => !one.startsWith('sqlite_'))) {
            database.exec(`DELETE FROM main.${name}; INSERT INTO main.${name} SELECT * FROM kept.${name}`);
          }
        })();
      }),
    index: () => withFile(indexSqlite),
  };
}

const TUNED = [POSTGRES_TUNING, SEGMENT_TUNING, SQLITE_TUNING].map((tuning) => [tuning, { ...tuning }] as const);
// Few resources are many rows of indexes, every search uses them, and each build takes all writes in.
beforeAll(() => {
  Object.assign(POSTGRES_TUNING, { look: 0 });
  Object.assign(SEGMENT_TUNING, { size: 20, minSize: 1 });
  Object.assign(SQLITE_TUNING, { narrow: 0, walked: 0 });
});
afterAll(() => TUNED.forEach(([tuning, before]) => Object.assign(tuning, before)));

const PLACES = [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const;

describe.each(someOf(PLACES, 1))('after %s was put back to an earlier copy, a living process', (_, create) => {
  async function opened() {
    const database = await create();
    const [living, other] = [database.open(), database.open()];
    onceTestEnds(() => Promise.all([living.close(), other.close()]));
    return { database, living, other };
  }

  test(`finds what is there now by indexes that others have made, seed ${SEED}`, async () => {
    const { database, living, other } = await opened();
    const random = createRandom(SEED);
    const stored = new Map<string, AnyResource>();
    const add = async (resources: readonly AnyResource[]): Promise<void> => {
      for (const one of await write(other, resources)) stored.set(one.id!, one);
    };
    await add(skewedResources(60, random));
    // The first search creates the indexes of a new file.
    await other.search(queryOf('Observation'));
    await database.index();
    await database.keep();
    const kept = [...stored];
    for (let round = 0; round < cases(6, 2); round++) {
      await add(skewedResources(12, random));
      await database.index();
      await assertSearches(living, PROJECT, [...stored.values()], random, cases(40, 8));
      expect((await living.verify()).problems).toEqual([]);
      await database.putBack();
      stored.clear();
      for (const [id, one] of kept) stored.set(id, one);
      if (round % 2 === 0) await assertSearches(living, PROJECT, [...stored.values()], random, 4);
    }
  });

  test('reads the resources of now under the keys of before', async () => {
    const { database, living, other } = await opened();
    await living.commit([put(resourceOf('Patient', 'a', { active: true }))]);
    await database.keep();
    const read = async (): Promise<unknown> => {
      const results = await living.read(['a', 'b', 'c'].map((id) => keyOf('Patient', id)));
      return results.map((one) => (one.status === 'found' ? (one.resource as { gender?: string }).gender : one.status));
    };
    await living.commit([put(resourceOf('Patient', 'b', { gender: 'male' }))]);
    // The second read keeps the object.
    for (let n = 0; n < 3; n++) expect(await read()).toEqual([undefined, 'male', 'missing']);
    await database.putBack();
    await other.commit([put(resourceOf('Patient', 'c', { gender: 'female' }))]);
    expect(await read()).toEqual([undefined, 'missing', 'female']);
    await database.putBack();
    await living.commit([put(resourceOf('Observation', 'b', { status: 'final' })), put(resourceOf('Patient', 'b'))]);
    expect(await read()).toEqual([undefined, undefined, 'missing']);
    const female = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } });
    expect((await living.search(female)).matches).toEqual([]);
    expect((await living.verify()).problems).toEqual([]);
  });

  test('signs in, and keeps signed in, with the rights of now', async () => {
    const { database, living, other } = await opened();
    await system(other);
    const { membership, user } = await signedIn(other, { rules: [{ resourceType: 'Patient' }] });
    const caller = { store: other, caller: systemCaller('clinic') };
    await repositoryOf(other, serverCaller('clinic')).create({ resourceType: 'Patient', active: true });
    await database.keep();
    const identity = { project: 'clinic', user };
    const use = (held: MemberCaller): Promise<unknown> => repositoryOf(living, held).search('Patient', 'active=true');
    for (let round = 0; round < 2; round++) {
      // A change of access that the rollback loses, as many times as a later one.
      await repositoryOf(other, serverCaller('clinic')).create({ resourceType: 'AccessPolicy', name: `lost-${round}` });
      const held = await signIn(living, identity, { recheckAfter: 0 });
      for (let n = 0; n < 3; n++) await use(held);
      await database.putBack();
      await updateMember(membership, { active: false }, caller);
      expect(await codeOf(signIn(living, identity))).toBe('membership-inactive');
      expect(await codeOf(use(held))).toBe('membership-inactive');
      await database.putBack();
      await use(await signIn(living, identity));
    }
  });

  test('finds memberships whose entries in the directory are again those of an older version', async () => {
    const { database, living, other } = await opened();
    await system(other);
    const { membership, user } = await signedIn(other);
    const entry = resourceOf('ProjectMembership', membership, { project: { reference: `Project/${PROJECT}` } });
    // Older versions did not name the person.
    await other.commit([{ kind: 'put', key: keyOf('ProjectMembership', membership, SERVER_SCOPE), resource: entry }]);
    await database.keep();
    await updateMember(membership, { admin: true }, { store: other, caller: systemCaller(PROJECT) });
    const listed = async (): Promise<unknown> =>
      (await listMemberships({ user }, { store: living })).map((one) => one.membership);
    expect(await listed()).toEqual([`ProjectMembership/${membership}`]);
    await database.putBack();
    expect(await listed()).toEqual([`ProjectMembership/${membership}`]);
  });

  test('writes and searches nothing with definitions that another process has replaced since', async () => {
    const { database, living } = await opened();
    await living.commit([put(resourceOf('Patient', 'a', { gender: 'male' }))]);
    await database.keep();
    const nick = { type: 'string', expression: 'Patient.name.given', path: [['name', 'given']] } as const;
    const stale = database.open(modelWith('Patient', { nick }));
    onceTestEnds(() => stale.close());
    await stale.commit([put(resourceOf('Patient', 'b', { name: [{ given: ['Bo'] }] }))]);
    await database.putBack();
    const now = database.open(modelWith('Patient', { nick: { ...nick, path: [['name', 'family']] } }));
    onceTestEnds(() => now.close());
    await now.commit([put(resourceOf('Patient', 'c', { name: [{ family: 'Co' }] }))]);
    const byNick = (text: string) =>
      queryOf('Patient', { kind: 'match', parameter: 'nick', test: { kind: 'string', comparator: 'equals', text } });
    expect((await now.search(byNick('co'))).matches.length).toBe(1);
    expect(await codeOf(stale.commit([put(resourceOf('Patient', 'd', { name: [{ given: ['Do'] }] }))]))).toBe(
      'unavailable',
    );
    expect(await codeOf(stale.search(byNick('co')))).toBe('unavailable');
  });
});
