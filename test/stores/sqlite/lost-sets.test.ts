import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { COUNTING_SETS } from '../../../src/stores/sqlite/search/count-sets.js';
import { SKIP_TUNING } from '../../../src/stores/sqlite/rows/skip-row.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { PROJECT } from '../../../src/testing/conformance-case.js';
import { compositeResources } from '../../../src/testing/composite-resources.js';
import { createRandom } from '../../../src/testing/random.js';
import { skewedResources } from '../../../src/testing/skewed-resources.js';
import { assertSearches } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { write } from '../queries.js';
import { buildSkips } from './skip-build.js';

const DEFAULTS = [SKIP_TUNING, COUNTING_SETS, TUNING].map((tuning) => [tuning, { ...tuning }] as const);
// Few resources are many rows of skip indexes, and every search uses them.
beforeAll(() => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 4, minHolders: 2, maxLookedUp: 3 });
  Object.assign(COUNTING_SETS, { minRows: 0 });
  Object.assign(TUNING, { looks: [Infinity], skipFrom: 0, fewTogether: 4 });
});
afterAll(() => DEFAULTS.forEach(([tuning, before]) => Object.assign(tuning, before)));

test(`a row that a skip index lacks says nothing about resources, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources: readonly AnyResource[] = await write(store, [
    ...skewedResources(60, random),
    ...compositeResources(random),
  ]);
  buildSkips(database);
  const rows = database.prepare('SELECT sort, subject, value, data, collection FROM skip').all();
  expect(rows.length).toBeGreaterThan(100);
  const put = database.prepare(
    'INSERT INTO skip (sort, subject, value, data, collection) VALUES (:sort, :subject, :value, :data, :collection)',
  );
  const remove = database.prepare('DELETE FROM skip WHERE sort = :sort AND subject = :subject AND value = :value');
  for (let run = 0; run < cases(200, 12); run++) {
    const lost = rows.filter(() => random() < 0.5) as Record<string, unknown>[];
    for (const row of lost) remove.run(row);
    // What the store has read before is of another header.
    database.prepare(`UPDATE skip SET data = json_set(data, '$.id', ?) WHERE data LIKE '{"format"%'`).run(`run ${run}`);
    await assertSearches(store, PROJECT, resources, random, cases(12, 6));
    database.prepare('DELETE FROM skip').run();
    for (const row of rows as Record<string, unknown>[]) put.run(row);
  }
});
