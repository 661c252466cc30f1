import Database from 'better-sqlite3';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import { put } from '../../support/kit.js';
import { INDEX_TABLES } from '../../../src/stores/sql/index-tables.js';
import { INDEX_VERSION } from '../../../src/search/index/parameter-fingerprints.js';

/**
 * The fingerprint of the rows at each INDEX_VERSION. If the test fails, the rows made for a resource differ from those in
 * people's files: raise INDEX_VERSION and add a line, so that stores make all rows again when they are opened. Lines of
 * released versions are never changed. A changed definition of a search parameter needs no new version, because the
 * fingerprint of that parameter differs (see parameter-fingerprints.ts).
 */
const FINGERPRINTS: { readonly [version: number]: string } = {
  4: 'ee5375051f497d5c1585599fdd30b0ff633aaf9bbc1f11ab4e53f5ea00761248',
  5: 'e594a4ceb1c0e1f904a6ad626f35417ec3c6ce7fb9b962000281e62237893a6d',
};

test('the rows extracted from resources are those of INDEX_VERSION', async () => {
  const fingerprint = createHash('sha256').update(JSON.stringify(await indexRows()));
  expect(fingerprint.digest('hex')).toBe(FINGERPRINTS[INDEX_VERSION]);
});

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

/** A row without the numbers of names, which depend on the order of writing. */
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
