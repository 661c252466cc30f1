import { R4 } from '../../../src/fhir/r4.js';
import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/fhir/resource.js';
import { INDEX_TABLES } from '../../../src/stores/sql/index-tables.js';
import { INDEX_VERSION } from '../../../src/search/index/index-version.js';
import { SqliteStore } from '../../../src/stores/sqlite/store.js';
import { put } from '../../../src/testing/conformance-case.js';

/**
 * What the fingerprint was at each INDEX_VERSION. If the test fails, the rows made for a resource are no longer those that
 * stand in people's files: raise INDEX_VERSION and add a line, so that files are indexed anew when they are opened. Lines
 * of released versions are never changed.
 */
const FINGERPRINTS: { readonly [version: number]: string } = {
  1: '6b137d0ab952081ed9abbcdd0d1f16879d31912b32f28f63e301fbefcc212835',
  2: '5cf7225ea4f377babd93eb92d77e78ae4009de4bf49ef7681f51ae974af64fe9',
  3: 'f6636083c039dcac21768da6b234ab5afb3d849dea91450df579642bced916b0',
  4: '50964b34f2cd770486754e7f6ed1d27910ba375ebf18e2cbf26a5403050097f8',
};

test('what is extracted from resources is what INDEX_VERSION stands for', async () => {
  const fingerprint = createHash('sha256');
  fingerprint.update(JSON.stringify(definitions()));
  fingerprint.update(JSON.stringify(await indexRows()));
  expect(fingerprint.digest('hex')).toBe(FINGERPRINTS[INDEX_VERSION]);
});

/** Every search parameter, and what it is taken from. */
function definitions(): unknown {
  return R4.resourceTypes.map((type) => [
    type,
    [...R4.searchParameters(type).values()].map(({ code, ...rest }) => [code, rest]),
  ]);
}

/** The rows of resources that never change, with names for numbers. */
async function indexRows(): Promise<unknown> {
  const database = new Database(':memory:');
  const store = new SqliteStore(database, { clock: () => new Date(0) });
  const samples = readFileSync(new URL('index-samples.ndjson', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  await store.commit(samples.map((line) => put(JSON.parse(line) as AnyResource)));
  const rows = INDEX_TABLES.map((table) => (database.prepare(rowsOf(table)).all() as object[]).map(withoutNumbers));
  for (const list of rows) expect(list.length).toBeGreaterThan(10);
  database.close();
  return rows;
}

/** A row without the numbers of names, which depend on who came first. */
function withoutNumbers(row: object): object {
  return { ...row, resource: 0, parameter: 0, system: 0, target: 0 };
}

function rowsOf(table: string): string {
  const hasSystem = table === 'token' || table === 'quantity';
  const isReference = table === 'reference';
  return `SELECT c.type, r.id, p.code, t.*, ${hasSystem ? 's.uri' : isReference ? "tc.type || '/' || tr.id" : 'NULL'} named
    FROM ${table} t JOIN resource r ON r.key = t.resource JOIN collection c ON c.key = r.collection
    JOIN parameter p ON p.key = t.parameter
    ${hasSystem ? 'LEFT JOIN system s ON s.key = t.system' : ''}
    ${isReference ? 'JOIN resource tr ON tr.key = t.target JOIN collection tc ON tc.key = tr.collection' : ''}
    ORDER BY c.type, r.id, p.code, grp, ordinal`;
}
