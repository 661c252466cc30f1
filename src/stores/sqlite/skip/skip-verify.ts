import { rowScope } from '../../sql/rows.js';
import type { SqlDialect } from '../../sql/dialect.js';
import type { Statements } from '../statements.js';
import { type GranuleSet, hasGranule } from './granules.js';
import { rebuildSkipRows } from './skip-build.js';
import { RANGES, type Ranges, readHolding, type SkipRow } from './skip-row.js';
import { readOrder, writtenSince } from './skip-search.js';

/**
 * How many rows of skip indexes leave out what is there. Rows of types that were written to since are not looked at: a
 * search does not trust them alone.
 */
export function countWrongSkipRows(dialect: SqlDialect, statements: Statements): number {
  const collections = statements.read(LIST_COLLECTIONS).all() as readonly [number, string, string][];
  let wrong = 0;
  for (const [collection, project, type] of collections) {
    const numbers = statements.read(LIST_ORDERS).all(collection) as readonly [number][];
    const known = numbers.flatMap(([order]) => {
      const valid = readOrder(order, statements);
      return valid === undefined || writtenSince(valid, collection, statements).length > 0 ? [] : [{ ...valid, order }];
    });
    if (known.length === 0) continue;
    const counts = new Map(known.map(({ order, starts }) => [order, starts.length + 1]));
    const check = (): void => undefined;
    for (const row of rebuildSkipRows(rowScope({ project, dialect }, type), statements, known, check)) {
      const [data] = (statements.read(READ).get(row.order, row.subject, row.value) ?? []) as [string?];
      if (row.subject !== 0 && data !== undefined && !holds(data, row, counts.get(row.order)!)) wrong++;
    }
  }
  return wrong;
}

/** Whether the data of a stored row have everything that the right row has. */
function holds(stored: string, { value, data }: SkipRow, count: number): boolean {
  if (value === RANGES) {
    const [is, should] = [JSON.parse(stored), JSON.parse(data)] as [Ranges, Ranges];
    return should[0].every((low, granule) => {
      if (low === null) return true;
      const isLow = is[0][granule] ?? Infinity;
      const [last, high] = [is[1][granule] ?? -Infinity, is[2][granule] ?? -Infinity];
      return isLow <= low && last >= should[1][granule]! && high >= should[2][granule]!;
    });
  }
  const [is, should] = [readHolding(stored, count), readHolding(data, count)];
  const includes = (all: GranuleSet, some: GranuleSet): boolean =>
    Array.from({ length: count }, (_, granule) => !hasGranule(some, granule) || hasGranule(all, granule)).every(
      Boolean,
    );
  return includes(is.some, should.some) && includes(is.lacking, should.lacking);
}

const LIST_COLLECTIONS = `SELECT DISTINCT c.key, c.project, c.type FROM skip s CROSS JOIN collection c ON c.key = s.collection`;
const LIST_ORDERS = 'SELECT sort FROM skip WHERE collection = ? AND subject = 0 AND value = 0';
const READ = 'SELECT data FROM skip WHERE sort = ? AND subject = ? AND value = ?';
