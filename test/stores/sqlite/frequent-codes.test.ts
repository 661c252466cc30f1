import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AnyResource, MemoryStore } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { Criteria } from '../../../src/store.js';
import { idsOf, keyOf, PROJECT, put, queryOf } from '../../support/kit.js';
import { SIZES } from '../../../src/stores/segments/run-format.js';
import { SEGMENT_TUNING } from '../../../src/stores/segments/upkeep.js';
import { temporaryFolder } from '../temporary-folder.js';

const fileNamed = temporaryFolder();
const [TUNING, USUAL] = [{ ...SEGMENT_TUNING }, { ...SIZES }];

beforeEach(() => {
  Object.assign(SEGMENT_TUNING, { minSize: 50 });
  Object.assign(SIZES, { block: 8, row: 32, frequent: 16, ids: 16 });
});
afterEach(() => {
  Object.assign(SEGMENT_TUNING, TUNING);
  Object.assign(SIZES, USUAL);
});

function observation(index: number, status: string, code: string): AnyResource {
  return {
    resourceType: 'Observation',
    id: `o${index}`,
    status,
    code: { coding: [{ system: 'urn:codes', code }] },
    subject: { reference: `Patient/p${index % 7}` },
  } as AnyResource;
}

/** Most are final. */
const OBSERVATIONS = Array.from({ length: 60 }, (_, index) =>
  observation(index, index % 20 === 0 ? 'amended' : 'final', index % 10 === 0 ? 'rare' : 'usual'),
);

const token = (parameter: string, code: string, more = {}): Criteria => ({
  kind: 'match',
  parameter,
  test: { kind: 'token', code, ...more },
});
const OF_ONE: Criteria = {
  kind: 'match',
  parameter: 'subject',
  test: { kind: 'reference', types: ['Patient'], id: 'p1' },
};
const ASKED: readonly Criteria[] = [
  token('status', 'final'),
  token('status', 'amended'),
  token('status', 'final', { negated: true }),
  token('code', 'usual', { system: 'urn:codes' }),
  { kind: 'or', of: [token('code', 'usual'), token('code', 'rare')] },
  { kind: 'and', of: [OF_ONE, token('status', 'final')] },
  { kind: 'and', of: [OF_ONE, { kind: 'not', of: token('code', 'usual') }] },
  { kind: 'missing', parameter: 'status', missing: true },
];

/** Asserts that the stores give the answers of a memory store with these resources. */
async function expectAnswers(stores: readonly SqliteStore[], resources: readonly AnyResource[]): Promise<void> {
  const memory = new MemoryStore();
  await memory.commit(resources.map((resource) => put(resource)));
  for (const criteria of ASKED) {
    for (const sort of [[], [{ parameter: 'status', descending: true }]]) {
      const query = queryOf('Observation', criteria, { sort, total: true });
      const right = await memory.search(query);
      for (const store of stores) {
        const { total, matches } = await store.search(query);
        expect([total, matches.map(({ resource }) => resource.id)]).toEqual([
          right.total,
          right.matches.map(({ resource }) => resource.id),
        ]);
      }
    }
  }
}

/** The groups of the tokens with a code. */
function groupsOf(file: string, code: string): readonly unknown[] {
  const database = new Database(file, { readonly: true });
  const groups = database.prepare('SELECT DISTINCT grp FROM token WHERE code = ? ORDER BY grp').pluck().all(code);
  database.close();
  return groups;
}

test('a code that very many resources have is left out of the index by value, and found all the same', async () => {
  const file = fileNamed('frequent.db');
  const [store, other] = [new SqliteStore(file, { readers: 0 }), new SqliteStore(file, { readers: 0 })];
  await store.commit(OBSERVATIONS.map((resource) => put(resource)));
  await expectAnswers([store, other], OBSERVATIONS);
  await store.reindex({ pendingOnly: true });
  const more = [observation(90, 'final', 'usual'), observation(91, 'amended', 'rare')];
  await store.commit(more.map((resource) => put(resource)));
  expect([groupsOf(file, 'final'), groupsOf(file, 'usual')]).toEqual([
    [-1, 0],
    [-1, 0],
  ]);
  expect([groupsOf(file, 'amended'), groupsOf(file, 'rare')]).toEqual([[0], [0]]);
  // The other store knew no frequent code when it searched last.
  await expectAnswers([other, store], [...OBSERVATIONS, ...more]);
  await other.commit([put(observation(92, 'final', 'usual'))]);
  await store.commit([{ kind: 'delete', key: keyOf('Observation', 'o90') }]);
  await expectAnswers([store, other], [...OBSERVATIONS, more[1]!, observation(92, 'final', 'usual')]);
  expect((await store.verify()).problems).toEqual([]);
  await store.reindex();
  expect(groupsOf(file, 'final')).toEqual([-1]);
  expect((await other.verify()).problems).toEqual([]);
  await expectAnswers([other, store], [...OBSERVATIONS, more[1]!, observation(92, 'final', 'usual')]);
  for (const one of [store, other]) await one.close();
});

test('a rare code of the same parameter is still found by its index', async () => {
  const store = new SqliteStore(fileNamed('rare.db'), { readers: 0 });
  await store.commit(OBSERVATIONS.map((resource) => put(resource)));
  await store.reindex({ pendingOnly: true });
  await store.commit([put(observation(90, 'final', 'rare'))]);
  const query = queryOf('Observation', token('code', 'rare'));
  const [page] = await store.explain({ kind: 'search', query });
  expect(page!.plan.join()).toContain('token_by_value (parameter=? AND code=?)');
  expect(await idsOf(store, query)).toEqual(['o0', 'o10', 'o20', 'o30', 'o40', 'o50', 'o90']);
  await store.close();
});

test('a frequent code is forgotten with its project, and is then in the index again', async () => {
  const file = fileNamed('removed.db');
  const [store, other] = [new SqliteStore(file, { readers: 0 }), new SqliteStore(file, { readers: 0 })];
  await store.commit(OBSERVATIONS.map((resource) => put(resource)));
  await store.reindex({ pendingOnly: true });
  await other.commit([put(observation(90, 'final', 'usual'))]);
  while (!(await store.removal.removeProject(PROJECT)).done);
  await other.commit([put(observation(91, 'final', 'usual'))]);
  expect(groupsOf(file, 'final')).toEqual([0]);
  await expectAnswers([store, other], [observation(91, 'final', 'usual')]);
  for (const one of [store, other]) await one.close();
});
