import Database from 'better-sqlite3';
import { MemoryStore } from 'fhirgraph';
import { SqliteStore } from 'fhirgraph/sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseVariables } from '../../bench/choose-variables.js';
import { loadData } from '../../bench/data.js';
import { assertEqualAnswers } from '../../bench/equal-answers.js';
import { importIndexed, importInto } from '../../bench/import-rate.js';
import { QUERIES, type Variant } from '../../bench/queries.js';
import { graphqlWithDataLoader } from '../../bench/variants/dataloader.js';
import { fhirgraph } from '../../bench/variants/fhirgraph.js';
import { floor } from '../../bench/variants/floor.js';

const folder = mkdtempSync(join(tmpdir(), 'fhirgraph-variants-'));
const file = join(folder, 'bench.db');
const { bundles } = loadData(undefined, 6);
const memory = new MemoryStore();
let database: Database.Database;
let sqlite: SqliteStore;
let variants: readonly Variant[];

beforeAll(async () => {
  await importIndexed(bundles, file, 'bench');
  await importInto(memory, bundles, 'bench');
  database = new Database(file, { readonly: true });
  sqlite = new SqliteStore(file);
  variants = [
    floor(database, 'bench'),
    graphqlWithDataLoader(database, 'bench'),
    fhirgraph('SQLite', sqlite, 'bench'),
    fhirgraph('memory', memory, 'bench'),
  ];
});

afterAll(async () => {
  database.close();
  await Promise.all([sqlite.close(), memory.close()]);
  rmSync(folder, { recursive: true });
});

test.each(QUERIES)('$what: hand-written SQL, graphql-js and both stores give one answer', async (query) => {
  const variables = chooseVariables(file, 'bench');
  expect(await assertEqualAnswers(variants, query, variables)).toBeGreaterThan(300);
  // A second time, when resources come from the cache.
  await assertEqualAnswers(variants, query, variables);
});

test('a variant with a different answer is named', async () => {
  const right: Variant = { name: 'right', prepare: () => () => '{"data":{"a":[1,{"b":null}],"c":0}}' };
  const wrong: Variant = { name: 'wrong', prepare: () => () => '{"data":{"c":0,"a":[1,{}]}}' };
  const compared = assertEqualAnswers([right, wrong], QUERIES[0], chooseVariables(file, 'bench'));
  await expect(compared).rejects.toThrow(
    'wrong answers "one-patient" differently from right at data.a.1.b: nothing, not null',
  );
});
