import Database from 'better-sqlite3';
import { importNdjson, type ResourceStore, systemCaller } from 'fhirgraph';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { checkRandom } from '../../bench/scale/random/check-random.js';
import { randomQuestions } from '../../bench/scale/random/questions.js';
import { PROJECT, randomContents, randomDataOf } from '../../bench/scale/random/random-contents.js';
import { PostgresStore } from '../../src/postgres.js';
import { SqliteStore } from '../../src/sqlite.js';
import { createRandom } from '../support/kit.js';
import { indexPostgres, indexSqlite, readers, useSmallIndexes, useUsualWay } from '../stores/questions/index-work.js';
import { postgresPool } from '../stores/postgres/pool.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { cases, IS_LONG, SEED } from '../support/chance.js';

// As `npm run bench:scale -- --part random --check` does, over stores with an index of broad questions.

/** Resources. PostgreSQL in this process takes three times as long as SQLite. */
const SIZE = 20_000;
const POSTGRES_SIZE = IS_LONG ? SIZE : 5_000;
const fileNamed = temporaryFolder();
afterAll(useUsualWay);

interface Judged {
  readonly store: ResourceStore;
  readonly index: (types: readonly string[]) => unknown;
}

const STORES: readonly (readonly [name: string, size: number, open: () => Promise<Judged>])[] = [
  [
    'SQLite',
    SIZE,
    async () => {
      const file = fileNamed('judged.db');
      const index = async (): Promise<void> => {
        const database = new Database(file);
        await indexSqlite(database);
        database.close();
      };
      return { store: new SqliteStore(file, { readers: readers() }), index };
    },
  ],
  [
    'PostgreSQL',
    POSTGRES_SIZE,
    async () => {
      const pool = await postgresPool();
      return {
        store: new PostgresStore(pool, { connectionWait: 60_000 }),
        index: (types) => indexPostgres(pool, types, PROJECT),
      };
    },
  ],
];

test.each(STORES)(
  `%s answers random questions about %i resources like a search that reads everything, seed ${SEED}`,
  async (_, size, open) => {
    const source = { seed: SEED, sparse: SEED % 2 === 0 };
    const data = randomDataOf(source, size);
    const questions = randomQuestions(data, SEED, cases(100, 20));
    const half = questions.length / 2;
    useSmallIndexes(createRandom(SEED), 64);
    const { store, index } = await open();
    await randomContents(source).fill(store, size);
    await store.search({ project: PROJECT, type: data.types[0]!.type, criteria: { kind: 'all' }, limit: 1 });
    await index(data.types.map(({ type }) => type));
    expect(await checkRandom(store, source, size, questions.slice(0, half), 2)).toEqual([]);
    // The index does not include what is written now.
    const changed = Readable.from(data.lines(0, undefined, 2, 97));
    expect(await importNdjson(changed, { store, caller: systemCaller(PROJECT) })).toMatchObject({ failed: 0 });
    const erased = data.types.filter(({ count }) => count > LAST);
    const keys = erased.map(({ type }) => ({ project: PROJECT, type, id: data.idOf(type, LAST) }));
    await store.commit(keys.map((key) => ({ kind: 'erase', key, reason: 'request' })));
    expect(await checkRandom(store, source, size, questions.slice(half), 2)).toEqual([]);
    await store.close();
  },
  600_000,
);

/** The number of the resource of each type that is erased. Members refer to the first one. */
const LAST = 7;
