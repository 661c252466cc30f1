import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PARSED_PARTS } from '../../src/fhir/json/parse-in-turns.js';
import { PACE } from '../../src/platform/loop-turn.js';
import { Pace } from '../../src/platform/pace.js';
import { parseShortText, parsingAtOnce, whenParsed } from '../../src/store/long-texts.js';
import type { ResourceStore } from '../../src/store/store.js';
import { Statements } from '../../src/stores/sqlite/database/statements.js';
import { checksum, summing } from '../../src/stores/sqlite/rows/checksum.js';
import { Contents, ONE_TEXT, TEXTS } from '../../src/stores/sqlite/rows/contents.js';
import { SqliteStore } from '../../src/stores/sqlite/store.js';
import { keyOf, put, queryOf, resourceOf } from '../../src/testing/conformance-case.js';
import { storeConformance } from '../../src/testing/store-conformance.js';
import { onceTestEnds } from '../support/after-tests.js';
import { IS_LONG, IS_WHOLE, SEED } from '../support/chance.js';
import { postgresStore } from './postgres/store.js';
import { temporaryFolder } from './temporary-folder.js';

// Every text counts as long, and is parsed in parts of a few characters.
const { long, size } = PARSED_PARTS;
const { turnMs } = PACE;

beforeAll(() => {
  Object.assign(PARSED_PARTS, { long: 100, size: 40 });
});

afterAll(() => {
  Object.assign(PARSED_PARTS, { long, size });
  PACE.turnMs = turnMs;
});

const fileNamed = temporaryFolder();
let files = 0;

describe.runIf(IS_WHOLE)('SQLite, a file', () => {
  storeConformance({ describe, test }, () => new SqliteStore(fileNamed(`${files++}.db`)), { seed: SEED, effort: 0.02 });
});

describe.runIf(IS_LONG)('SQLite in memory', () => {
  storeConformance({ describe, test }, () => new SqliteStore(':memory:'), { seed: SEED, effort: 0.02 });
});

const STORES: readonly (readonly [string, () => ResourceStore | Promise<ResourceStore>])[] = [
  ['SQLite, a file', () => closing(new SqliteStore(fileNamed(`${files++}.db`)))],
  ['SQLite in memory without a cache', () => closing(new SqliteStore(':memory:', { cacheBytes: 0 }))],
  ['PostgreSQL', () => postgresStore()],
];

function closing(store: SqliteStore): SqliteStore {
  onceTestEnds(() => store.close());
  return store;
}

test.each(STORES)('%s parses long texts in turns with other work, in every read', async (_, open) => {
  const store = await open();
  const ids = Array.from({ length: 8 }, (_, n) => `p${n}`);
  const name = Array.from({ length: 20 }, (_, n) => ({ family: `Family ${n}`, given: ['Ann', 'Bea'] }));
  const texts = (found: readonly { readonly resource: object }[]): unknown[] =>
    found.map(({ resource }) => (resource as { name: unknown }).name);
  await store.commit(ids.map((id) => put(resourceOf('Patient', id, { name }))));
  PACE.turnMs = 0;
  const next = vi.spyOn(Pace.prototype, 'next');
  const all = ids.map(() => name);
  const reads: readonly (() => Promise<unknown[]>)[] = [
    async () => texts((await store.read([keyOf('Patient', 'p3')])) as never),
    async () => texts((await store.read(ids.map((id) => keyOf('Patient', id)))) as never),
    async () => texts((await store.read(ids.map((id) => ({ ...keyOf('Patient', id), elements: ['name'] })))) as never),
    async () => texts((await store.search(queryOf('Patient'))).matches),
    async () => texts((await store.history(keyOf('Patient', 'p3'), { offset: 0, limit: 10 })).entries as never),
  ];
  const [readOne, ...others] = reads;
  expect(await readOne!()).toStrictEqual([name]);
  expect(next).toHaveBeenCalled();
  for (const read of others) {
    const found = await read();
    expect(found).toStrictEqual(found.length === 1 ? [name] : all);
  }
  next.mockClear();
  await store.read([keyOf('Patient', 'p5'), keyOf('Patient', 'p5')]);
  await store.history(keyOf('Patient', 'p5'), { offset: 0, limit: 1 });
  expect(next.mock.calls.length).toBeGreaterThan(10);
  vi.restoreAllMocks();
});

test('a read of SQLite reads a long text once', async () => {
  const store = closing(new SqliteStore(fileNamed(`${files++}.db`)));
  const name = Array.from({ length: 20 }, (_, n) => ({ family: `Family ${n}` }));
  await store.commit([put(resourceOf('Patient', 'a', { name }))]);
  PACE.turnMs = 0;
  const statements = vi.spyOn(Statements.prototype, 'read');
  const { versionId } = (await store.read([keyOf('Patient', 'a')]))[0] as { versionId: string };
  await store.read([{ ...keyOf('Patient', 'a'), version: versionId, elements: ['id'] }]);
  const page = await store.search(queryOf('Patient'));
  expect(page.matches[0]).toMatchObject({ resource: { name } });
  const reads = statements.mock.calls.filter(([text]) => text === ONE_TEXT).length;
  // The second read shares the resource with the third.
  expect(reads).toBe(2);
  vi.restoreAllMocks();
});

test('a history of SQLite reads long texts one by one, and short texts together', async () => {
  const store = closing(new SqliteStore(fileNamed(`${files++}.db`)));
  const key = keyOf('Patient', 'a');
  const versions = ['short', 'x'.repeat(200), 'other', 'y'.repeat(300), 'z'.repeat(150)];
  for (const family of versions) await store.commit([put(resourceOf('Patient', 'a', { name: [{ family }] }))]);
  await store.commit([{ kind: 'delete', key }]);
  const familiesOf = async (limit: number): Promise<unknown[]> => {
    const { entries, total } = await store.history(key, { offset: 0, limit });
    expect(total).toBe(6);
    return entries.map((one) =>
      one.kind === 'delete' ? one.versionId : (one.resource as { name?: { family?: string }[] }).name?.[0]?.family,
    );
  };
  const statements = vi.spyOn(Statements.prototype, 'read');
  expect(await familiesOf(10)).toEqual(['6', ...versions.toReversed()]);
  const read = statements.mock.calls.map(([text]) => text);
  expect(read.filter((text) => text === ONE_TEXT)).toHaveLength(5);
  expect(read.filter((text) => text === TEXTS)).toHaveLength(0);
  vi.restoreAllMocks();
  // A removal between two texts.
  vi.spyOn(Contents.prototype, 'textsOf').mockReturnValueOnce([undefined]);
  expect(await familiesOf(3)).toEqual(['6', ...versions.toReversed().slice(0, 2)]);
  vi.restoreAllMocks();
  Object.assign(PARSED_PARTS, { long });
  const together = vi.spyOn(Statements.prototype, 'read');
  expect(await familiesOf(10)).toEqual(['6', ...versions.toReversed()]);
  expect(together.mock.calls.filter(([text]) => text === TEXTS)).toHaveLength(1);
  vi.restoreAllMocks();
  Object.assign(PARSED_PARTS, { long: 100 });
});

test('the checksum of a long text is computed in steps', () => {
  const text = `${'a'.repeat(99)}\u{1F600}${'é'.repeat(98)}\u{1F600}${'b'.repeat(150)}\ud800`;
  const steps = summing(7, 2, 1_700_000_000_000, text);
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count += 1;
  expect(step.value).toBe(checksum(7, 2, 1_700_000_000_000, text));
  expect(count).toBe(4);
});

test('two reads of a text return two objects', async () => {
  const text = JSON.stringify({ resourceType: 'Patient', id: 'p'.repeat(200) });
  const [one, other] = await whenParsed(() => [parseShortText(text), parseShortText(text)]);
  expect(one).toStrictEqual(other);
  expect(one).not.toBe(other);
});

test('a part of a read that cannot be repeated parses long texts itself', () => {
  const text = JSON.stringify({ resourceType: 'Patient', id: 'p'.repeat(200) });
  expect(whenParsed(() => parsingAtOnce(() => parseShortText(text)))).toStrictEqual(JSON.parse(text));
});
