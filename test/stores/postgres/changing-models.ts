import { expect, test } from 'vitest';
import { pglitePool, PostgresStore } from '../../../src/postgres.js';
import { createRandom } from '../../support/kit.js';
import { cases, IS_LONG, SEED } from '../../support/chance.js';
import { changeModelsAtRandom, type ReindexedStore } from '../changing-models.js';
import { bareDatabase } from './pool.js';

// `npm test` changes the models of SQLite files, which share the plan of the work.
test.runIf(IS_LONG).each(Array.from({ length: cases(20, 1) }, (_, n) => SEED + n))(
  'stores of different models over one database give the right answer or none (from seed %i)',
  async (seed) => {
    const pool = pglitePool(await bareDatabase());
    const opened: PostgresStore[] = [];
    const open = (model: ReindexedStore['model'], takeOver: boolean): ReindexedStore => {
      const store = new PostgresStore(pool, { model, takeOver, reindex: 'manual' });
      opened.push(store);
      return store;
    };
    await changeModelsAtRandom(open, createRandom(seed), 30);
    expect((await opened.at(-1)!.verify()).problems).toEqual([]);
    for (const store of opened) await store.close();
  },
);
