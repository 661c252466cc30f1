import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';
import { PostgresStore } from '../../src/postgres.js';
import type { FhirModel } from '../../src/store.js';
import { keyOf, put, queryOf, resourceOf } from '../support/kit.js';
import { modelWith } from '../stores/models.js';
import { cases } from '../support/chance.js';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();
const FIRST = modelWith('Patient', { gender: { type: 'string' } });
const SECOND = modelWith('Patient', { gender: { path: [['contact', 'gender']] } });

describe.skipIf(programs === undefined)(
  'while commits are in progress, another process takes the database over',
  () => {
    let server: PostgresServer;
    let admin: pg.Pool;
    beforeAll(async () => {
      server = await startPostgres(programs!);
      admin = new pg.Pool({ ...server.connection, max: 1 });
    }, 60_000);
    afterAll(async () => {
      await admin.end();
      await server.stop();
    });

    test('and none of them is written afterwards, nor missing from the reindexed data', async () => {
      let written = 0;
      for (let round = 0; round < cases(10); round++) {
        // A round re-indexes and verifies all that its database has.
        const database = `round_${round}`;
        await admin.query(`CREATE DATABASE ${database}`);
        const pools = [
          new pg.Pool({ ...server.connection, database, max: 12 }),
          new pg.Pool({ ...server.connection, database, max: 4 }),
        ] as const;
        const open = (pool: pg.Pool, model: FhirModel): PostgresStore =>
          new PostgresStore(pool, { model, takeOver: true, reindex: 'manual' });
        const first = open(pools[0], FIRST);
        await first.read([keyOf('Patient', 'nobody')]);
        let next = 0;
        // Every other commit is serializable, with a snapshot from before its last statement.
        const writeUntilRefused = async (serializable: boolean): Promise<void> => {
          for (;;) {
            const id = `r${round}n${next++}`;
            const check = { kind: 'assert-no-match', query: queryOf('Patient', { kind: 'id', ids: [id] }) } as const;
            const write = put(resourceOf('Patient', id, { gender: 'male' }), {}, `p${next % 7}r${round}`);
            try {
              await first.commit(serializable ? [check, write] : [write]);
              written++;
            } catch (error) {
              if (error instanceof FhirError && error.code === 'conflict') continue;
              expect(error).toMatchObject({
                code: 'unavailable',
                message: expect.stringContaining('made with other definitions') as string,
              });
              return;
            }
          }
        };
        const writers = Array.from({ length: 8 }, (_, n) => writeUntilRefused(n % 2 === 0));
        await new Promise((resolve) => setTimeout(resolve, 200 + 200 * Math.random()));
        const second = open(pools[1], SECOND);
        await second.read([keyOf('Patient', 'nobody')]);
        const count = async (condition: string): Promise<number> => {
          const text = `SELECT count(*)::int AS count FROM resource WHERE ${condition}`;
          const { rows } = await pools[1].query<{ count: number }>(text);
          return rows[0]!.count;
        };
        const there = await count('TRUE');
        await Promise.all(writers);
        expect(await count('TRUE')).toBe(there);
        expect(await count('project NOT IN (SELECT project FROM fhirgraph_index_work)')).toBe(0);
        // Two processes share the work.
        const third = open(pools[0], SECOND);
        const shares = await Promise.all([second, third].map((store) => store.reindex({ pendingOnly: true })));
        expect(shares[0]! + shares[1]!).toBe(there);
        expect((await second.verify()).problems).toEqual([]);
        for (const store of [first, second, third]) await store.close();
        for (const pool of pools) await pool.end();
        await admin.query(`DROP DATABASE ${database}`);
      }
      expect(written).toBeGreaterThan(0);
    }, 600_000);
  },
);
