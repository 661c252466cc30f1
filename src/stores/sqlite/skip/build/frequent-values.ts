import { type Sql, sql } from '../../../sql/sql.js';
import type { SkipSizes } from '../../rows/skip-row.js';

/** Selects the values that many rows have. @param from with conditions */
export function frequentValues(value: Sql, from: Sql, { minHolders }: Pick<SkipSizes, 'minHolders'>): Sql {
  return sql`SELECT ${value} FROM ${from} AND ${value} IS NOT NULL
    GROUP BY ${value} HAVING count(*) >= ${minHolders}`;
}
