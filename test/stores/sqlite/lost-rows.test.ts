import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { below, createRandom, keyOf, oneOf, PROJECT, queryOf } from '../../support/kit.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { TUNING } from '../../../src/stores/sqlite/scans/tuning.js';
import { compositeResources } from '../../../src/testing/random-resources.js';
import { assertSearches, skewedResources } from '../../../src/testing/suites/random-searches.js';
import { cases, SEED } from '../../support/chance.js';
import { until } from '../../support/until.js';
import { write } from '../queries.js';

// Few resources have segments, and every search uses them.
beforeAll(() => {
  Object.assign(SEGMENT_TUNING, { size: 40, minSize: 1 });
  Object.assign(TUNING, { narrow: 0, walked: 0 });
});

type Row = Readonly<Record<string, unknown>>;

/** A database with segments of random resources. */
async function filled(
  random: () => number,
): Promise<{ readonly database: Database.Database; readonly resources: readonly AnyResource[] }> {
  const database = new Database(':memory:');
  const store = new SqliteStore(database);
  const resources = await write(store, [...skewedResources(60, random), ...compositeResources(random)]);
  await store.reindex({ pendingOnly: true });
  await store.close();
  return { database, resources };
}

const DAMAGES: readonly ((row: Row, random: () => number) => readonly [text: string, ...values: unknown[]])[] = [
  ({ segment, name }) => ['DELETE FROM segment_row WHERE segment = ? AND name = ?', segment, name],
  ({ segment, name, data }, random) => {
    const bytes = Buffer.from(data as Buffer);
    bytes[below(bytes.length, random)]! ^= 1 << below(8, random);
    return ['UPDATE segment_row SET data = ? WHERE segment = ? AND name = ?', bytes, segment, name];
  },
  ({ collection }) => ["UPDATE segment_list SET list = replace(list, 'A', 'B') WHERE collection = ?", collection],
  ({ collection }) => ["UPDATE segment_list SET list = '{' WHERE collection = ?", collection],
];

test(`no answer is wrong because of lost or damaged rows of segments, seed ${SEED}`, async () => {
  const random = createRandom(SEED);
  for (let run = 0; run < cases(60, 8); run++) {
    const { database, resources } = await filled(random);
    // It repairs nothing.
    const store = new SqliteStore(database, { readonly: true });
    const rows = database.prepare('SELECT * FROM segment_row').all() as Row[];
    const damage = oneOf(DAMAGES, random);
    const share = oneOf([0.1, 0.5], random);
    for (const row of rows.filter(() => random() < share)) {
      const [text, ...values] = damage(row, random);
      database.prepare(text).run(...values);
    }
    await assertSearches(store, PROJECT, resources, random, 12);
    await store.close();
  }
});

test('a search that finds damage has the list made again', async () => {
  const { database, resources } = await filled(createRandom(1));
  database.exec(`DELETE FROM segment_row WHERE name <> 'segment'
    AND collection = (SELECT key FROM collection WHERE type = 'Observation')`);
  const store = new SqliteStore(database);
  const count = resources.filter(({ resourceType }) => resourceType === 'Observation').length;
  const query = queryOf('Observation', { kind: 'missing', parameter: 'status', missing: false }, { limit: 5 });
  const wayOf = async (): Promise<string | undefined> => (await store.explain({ kind: 'search', query }))[0]!.way;
  expect((await store.search({ ...query, limit: 1_000 })).matches.length).toBe(count);
  await until(async () => (await wayOf()) === 'segments');
  expect((await store.search({ ...query, limit: 1_000 })).matches.length).toBe(count);
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});

test('an erasure beside a damaged segment removes it', async () => {
  const { database } = await filled(createRandom(1));
  const id = database.prepare("SELECT id FROM resource WHERE id LIKE 'o%' LIMIT 1").pluck().get() as string;
  database.exec("UPDATE segment_row SET data = CAST('damaged' AS BLOB)");
  const store = new SqliteStore(database, { reindex: 'manual' });
  await store.commit([{ kind: 'erase', key: keyOf('Observation', id), reason: 'request' }]);
  const left = database.prepare(
    "SELECT count(*) FROM segment_list JOIN collection ON key = segment_list.collection WHERE type = 'Observation'",
  );
  expect(left.pluck().get()).toBe(0);
  await store.close();
});
