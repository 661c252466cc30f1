import { beforeAll, describe, expect, test } from 'vitest';
import { SEGMENT_TUNING } from '../../src/stores/segments/upkeep.js';
import { TUNING } from '../../src/stores/sqlite/scans/tuning.js';
import { SqliteStore } from '../../src/sqlite.js';
import { createRandom } from '../support/kit.js';
import { cases, SEED } from '../support/chance.js';
import { changeModelsAtRandom, type ReindexedStore } from './changing-models.js';
import { temporaryFolder } from './temporary-folder.js';

const fileNamed = temporaryFolder();

// Searches use segments, some of which were made with other definitions.
beforeAll(() => {
  Object.assign(SEGMENT_TUNING, { size: 3, minSize: 1 });
  Object.assign(TUNING, { narrow: 0, walked: 0 });
});

describe(`stores of different models over one file, from seed ${SEED}`, () => {
  test.each(Array.from({ length: cases(60, 3) }, (_, n) => SEED + n))(
    'give the right answer or none (%i)',
    async (seed) => {
      const file = fileNamed(`${seed}.db`);
      const opened: ReindexedStore[] = [];
      const open = (model: ReindexedStore['model'], takeOver: boolean): ReindexedStore => {
        const store = new SqliteStore(file, { model, takeOver, reindex: 'manual', synchronous: 'off' });
        opened.push(store);
        return store;
      };
      await changeModelsAtRandom(open, createRandom(seed), 80);
      expect((await (opened.at(-1) as SqliteStore).verify()).problems).toEqual([]);
      for (const store of opened) await store.close();
    },
  );
});
