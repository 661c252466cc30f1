import { afterAll, beforeAll, expect, test } from 'vitest';
import { pglitePool, type PostgresPool, type PostgresStatement, PostgresStore } from '../../src/postgres.js';
import { put, queryOf, resourceOf } from '../support/kit.js';
import { BATCH_TEXTS } from '../../src/stores/postgres/rows/bounded-texts.js';
import { newDatabase } from './postgres/pool.js';

// Re-indexing and verification read many resources at a time, which together may be larger than memory.

const COUNT = 12;
const SIZE = 20_000;
const { bytes } = BATCH_TEXTS;
beforeAll(() => void (BATCH_TEXTS.bytes = 3 * SIZE));
afterAll(() => void (BATCH_TEXTS.bytes = bytes));

/** @param sizes receives the length of what each statement has answered */
function measured(pool: PostgresPool, sizes: number[]): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect();
      return Object.assign(Object.create(client) as typeof client, {
        async query(statement: PostgresStatement) {
          const answer = await client.query(statement);
          sizes.push(JSON.stringify(answer.rows ?? []).length);
          return answer;
        },
      });
    },
  };
}

test('batches of PostgreSQL end early where texts are long, and leave nothing out', async () => {
  const database = await newDatabase();
  const sizes: number[] = [];
  const store = new PostgresStore(measured(pglitePool(database), sizes));
  const documents = Array.from({ length: COUNT }, (_, n) =>
    put(resourceOf('Binary', `b${n}`, { contentType: 'text/plain', data: 'A'.repeat(n === 7 ? 9 * SIZE : SIZE) })),
  );
  await store.commit([...documents, put(resourceOf('Patient', 'p', { gender: 'male' }))]);
  await database.exec('DELETE FROM token');
  sizes.length = 0;
  const progress: number[] = [];
  const done = await store.reindex({ onProgress: ({ type, done: now }) => type === 'Binary' && progress.push(now) });
  expect(done).toBe(COUNT + 1);
  expect(progress.length).toBeGreaterThan(3);
  expect(progress.at(-1)).toBe(COUNT);
  expect(await store.verify()).toMatchObject({ resources: COUNT + 1, problems: [] });
  const male = queryOf('Patient', { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } });
  expect((await store.search(male)).matches.length).toBe(1);
  // The long document, and those before it.
  expect(Math.max(...sizes)).toBeLessThan(9 * SIZE + 4 * SIZE + 10_000);
  await store.close();
});
