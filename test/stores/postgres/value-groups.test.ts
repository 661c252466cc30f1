import { beforeAll, expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { GROUPS, SKIP_TUNING, valueName } from '../../../src/stores/postgres/rows/skip-row.js';
import { TUNING } from '../../../src/stores/postgres/scans/tuning.js';
import { PostgresStore } from '../../../src/stores/postgres/store.js';
import { queryOf } from '../../../src/testing/conformance-case.js';
import { createRandom } from '../../../src/testing/random.js';
import { cases, SEED, someOf } from '../../support/chance.js';
import {
  component,
  KINDS,
  LOINC,
  PRESSURE,
  panel,
  panels,
  randomGroupCriteria,
  randomPanels,
  systolic,
  UCUM,
} from '../group-cases.js';
import { answerOf, by, write } from '../skip-cases.js';
import { noting, postgresPool } from './pool.js';
import { buildSkips, rowsOf } from './skip-build.js';

// Few resources are many granules, and few writes a layer.
beforeAll(() => {
  Object.assign(SKIP_TUNING, { granule: 8, minGranules: 3, minHolders: 2, minGroups: 12, maxFresh: 10 });
  Object.assign(TUNING, { looks: [Infinity], walkedFirst: 0, mostShare: 2 });
});

test.each(someOf(KINDS, 1))(`groups %s answer as memory does, also below layers, seed ${SEED}`, async (_, make) => {
  const random = createRandom(SEED);
  const [pool, memory] = [await postgresPool(), new MemoryStore()];
  const store = new PostgresStore(pool);
  const both = async (resources: readonly AnyResource[]): Promise<void> => {
    for (const one of [store, memory]) await write(one, resources);
  };
  await both(randomPanels(make, random, 0, 200));
  for (let round = 0; round < cases(4, 3); round++) {
    // Every second time the index lacks the last writes.
    if (round !== 2) await buildSkips(pool, ['Observation']);
    expect((await store.verify()).problems).toEqual([]);
    for (let trial = 0; trial < cases(60, 6); trial++) {
      const sort = [by('_id', random() < 0.5)];
      const query = queryOf('Observation', randomGroupCriteria(random), { limit: 10, total: true, sort });
      expect(await answerOf(store, query)).toEqual(await answerOf(memory, query));
    }
    await both(randomPanels(make, random, 190 + 10 * round, 15));
    await both(Array.from({ length: 3 }, (__, index) => panel(`o${index + 3 * round}`, [])));
  }
  await store.close();
});

test('a count of blood pressures tests no resource', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  await write(store, panels());
  await buildSkips(pool, ['Observation']);
  const whole = { system: LOINC, unit: { system: UCUM, code: 'mm[Hg]' } };
  for (const [criteria, expected] of [
    [systolic(140), 72],
    [systolic(140, whole), 72],
    [systolic(100, { prefix: 'le', unit: { code: 'mmHg' } }), 8],
  ] as const) {
    statements.length = 0;
    const { total } = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
    expect(total).toBe(expected);
    expect(statements.filter((text) => /FROM (?:token|quantity)/.test(text))).toEqual([]);
  }
  await store.close();
});

test('a count of blood pressures tests no resource of a layer, and the layer reads the groups of its resources alone', async () => {
  const statements: string[] = [];
  const pool = await postgresPool();
  const store = new PostgresStore(noting(pool, statements));
  await write(store, panels());
  await buildSkips(pool, ['Observation']);
  // Some replace others, and one has no pressure any more.
  const later = Array.from({ length: 40 }, (_, index) =>
    panel(index % 2 === 0 ? `o${index}` : `later${index}`, [component('sys', 140 + (index % 5))]),
  );
  await write(store, [...later, panel('o49', [])]);
  statements.length = 0;
  await buildSkips(noting(pool, statements), ['Observation']);
  const ofGroups = statements.filter((text) => text.includes('token x0'));
  expect(ofGroups.length).toBeGreaterThan(0);
  for (const text of ofGroups) expect(text).toMatch(/fhirgraph_number m[^]*x0\.resource = m\.resource/);
  const values = new Map(
    [...panels(), ...later].map(({ id }, index) => [id, index < 400 ? 100 + (index % 50) : 140 + ((index - 400) % 5)]),
  );
  values.delete('o49');
  const expected = [...values.values()].filter((value) => value > 141).length;
  statements.length = 0;
  const criteria = systolic(141, { system: LOINC, unit: { system: UCUM, code: 'mm[Hg]' } });
  const { total } = await store.search(queryOf('Observation', criteria, { limit: 0, total: true }));
  expect(total).toBe(expected);
  expect(statements.filter((text) => /FROM (?:token|quantity)/.test(text))).toEqual([]);
  await store.close();
});

test('wrong groups of a layer are reported by verify', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  await write(store, panels().slice(0, 120));
  await buildSkips(pool, ['Observation']);
  await write(
    store,
    Array.from({ length: 25 }, (_, index) => panel(`later${index}`, [component('sys', 100 + index)])),
  );
  await buildSkips(pool, ['Observation']);
  const ofLayer = `subject = ${GROUPS} AND value LIKE '+% %'`;
  const damages = [
    `UPDATE fhirgraph_skip SET data = (data::jsonb || '{"lists":"AQAAAAA="}')::text WHERE ${ofLayer}`,
    `UPDATE fhirgraph_skip SET data = jsonb_set(data::jsonb, '{starts,1}', '1')::text WHERE ${ofLayer}`,
    `UPDATE fhirgraph_skip SET data = jsonb_set(data::jsonb, '{groups,units}', '["${'0'.repeat(32)}"]')::text
      WHERE subject = ${GROUPS}`,
    `DELETE FROM fhirgraph_skip WHERE ${ofLayer}`,
  ];
  expect((await store.verify()).problems).toEqual([]);
  for (const damage of damages) {
    await rowsOf(pool, 'CREATE TABLE kept AS SELECT * FROM fhirgraph_skip');
    expect([damage, (await rowsOf(pool, `${damage} RETURNING 1`)).length > 0]).toEqual([damage, true]);
    expect([damage, (await store.verify()).problems]).toEqual([
      damage,
      [expect.stringContaining('The skip index of Observation')],
    ]);
    await rowsOf(pool, 'DELETE FROM fhirgraph_skip');
    await rowsOf(pool, 'INSERT INTO fhirgraph_skip SELECT * FROM kept');
    await rowsOf(pool, 'DROP TABLE kept');
  }
  expect((await store.verify()).problems).toEqual([]);
  await store.close();
});

test('an interval among the values leaves the groups out', async () => {
  const pool = await postgresPool();
  const store = new PostgresStore(pool);
  await write(store, panels());
  await buildSkips(pool, ['Observation']);
  const kept = async (): Promise<unknown> =>
    (
      await rowsOf(pool, `SELECT value FROM fhirgraph_skip WHERE sort > 0 AND subject = ${GROUPS} ORDER BY value`)
    ).flat();
  expect(await kept()).toEqual(['dia', 'dia', 'sys', 'sys'].map(valueName));
  const interval = component('sys', 50, { ...PRESSURE, comparator: '>' });
  await write(
    store,
    Array.from({ length: 110 }, (_, index) => panel(`more${index}`, [interval])),
  );
  // More writes than layers may have: all is built again.
  await buildSkips(pool, ['Observation']);
  expect(await kept()).toEqual(['dia', 'dia'].map(valueName));
  const { total } = await store.search(queryOf('Observation', systolic(148), { limit: 0, total: true }));
  expect(total).toBe(8 + 110);
  await store.close();
});
