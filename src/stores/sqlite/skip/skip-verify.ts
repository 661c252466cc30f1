import type { SqlDialect } from '../../sql/dialect.js';
import { rowScope } from '../../sql/rows.js';
import { isSame } from '../../sql/skip/key-bytes.js';
import type { Statements } from '../database/statements.js';
import type { KnownRows } from './build/known-rows.js';
import { buildSkipRows } from './build/skip-build.js';
import { readHeader, readSkipData, writtenSince } from './read/skip-header.js';
import {
  GROUPS,
  HEADER,
  ORDER,
  PRESENCE,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipOrder,
  SYSTEMS,
  systemsOf,
  type SystemsOf,
  orderOfIds,
} from '../rows/skip-row.js';

/**
 * Counts the wrong rows of skip indexes. It leaves out types with writes since their index was built: searches do not
 * rely on their rows alone.
 */
export function countWrongSkipRows(dialect: SqlDialect, statements: Statements): number {
  const collections = statements.read(LIST_COLLECTIONS).all() as readonly [number, string, string][];
  let wrong = 0;
  for (const [collection, project, type] of collections) {
    const header = readHeader(collection, statements);
    if (header === undefined || writtenSince(header.lastVersion, collection, statements)?.length !== 0) continue;
    const read = (sort: number, subject: number, value: string | number): string | Uint8Array | undefined =>
      readSkipData(statements, sort, subject, value);
    const known: KnownRows = {
      range: header,
      granules: (sort, subject) => {
        const text = read(sort, subject, ORDER) as string | undefined;
        return text === undefined ? undefined : (JSON.parse(text) as SkipOrder);
      },
      values: (subject) =>
        (statements.read(LIST_VALUES).all(SETS, subject) as [string | number][])
          .map(([value]) => value)
          .filter((value) => value !== PRESENCE && value !== SEVERAL),
      systems: (parameter, code) => {
        const text = read(parameter, SYSTEMS, systemsOf(code)) as string | undefined;
        return text === undefined ? undefined : (JSON.parse(text) as SystemsOf);
      },
      groups: (value) =>
        (statements.read(LIST_GROUPS).all(value, GROUPS) as [string, string][]).map(([code, subject]) => [
          code,
          Number(subject),
        ]),
    };
    const sizes = { ...SKIP_TUNING, minGranules: 0 };
    const check = (): void => undefined;
    for (const row of buildSkipRows(rowScope({ project, dialect }, type), statements, sizes, check, known)) {
      const stored = read(row.sort, row.subject, row.value);
      const isHeader = row.sort === SETS && row.subject === orderOfIds(collection) && row.value === HEADER;
      if (!isHeader && stored !== undefined && !isSameData(stored, row.data)) wrong++;
    }
  }
  return wrong;
}

function isSameData(stored: string | Uint8Array, data: string | Uint8Array): boolean {
  return typeof stored === 'string' || typeof data === 'string' ? stored === data : isSame(stored, data);
}

const LIST_COLLECTIONS = `SELECT DISTINCT c.key, c.project, c.type FROM skip s CROSS JOIN collection c ON c.key = s.collection`;
const LIST_GROUPS = 'SELECT value, data FROM skip WHERE sort = ? AND subject = ?';
const LIST_VALUES = 'SELECT value FROM skip WHERE sort = ? AND subject = ?';
