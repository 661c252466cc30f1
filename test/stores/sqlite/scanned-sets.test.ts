import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Statements } from '../../../src/stores/sqlite/database/statements.js';
import { ScannedSets } from '../../../src/stores/sqlite/skip/sets/scanned-sets.js';
import { type Sql, sql } from '../../../src/stores/sql/sql.js';

const upTo = (last: number): Sql =>
  sql`WITH RECURSIVE n (key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n WHERE key < ${last}) SELECT key FROM n`;

test('a search reads the same scan again only if it needs more of its keys', () => {
  const sets = new ScannedSets(
    { check: () => undefined } as never,
    {} as never,
    new Statements(new Database(':memory:')),
  );
  const spy = vi.spyOn(Statements.prototype, 'column');
  onTestFinished(() => spy.mockRestore());
  // [keys of the scan, limit, keys found, scans read so far]
  const asked: readonly (readonly [number, number, readonly number[] | undefined, number])[] = [
    [4, 2, undefined, 1],
    // It has more than two keys, so it has more than one.
    [4, 1, undefined, 1],
    [4, 3, undefined, 2],
    [4, 6, [1, 2, 3, 4], 3],
    [4, 5, [1, 2, 3, 4], 3],
    // All of them are known, and they are more than three.
    [4, 3, undefined, 3],
    // The same statement with another value.
    [2, 6, [1, 2], 4],
  ];
  for (const [last, limit, keys, reads] of asked) {
    expect([last, limit, sets.keys(upTo(last), limit), spy.mock.calls.length]).toEqual([last, limit, keys, reads]);
  }
});
