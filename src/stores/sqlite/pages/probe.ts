import { sql } from '../../sql/sql.js';
import type { Statements } from '../statements.js';
import type { Condition } from '../../sql/pages/condition.js';

/** The condition with the shortest scan, if fewer than the limit. @param conditions each with a scan */
export function shortestUnder(
  limit: number,
  conditions: readonly Condition[],
  statements: Statements,
): { readonly condition: Condition; readonly rows: number } | undefined {
  let shortest: Condition | undefined;
  let fewest = limit;
  for (const condition of conditions) {
    const [rows] = statements.get(sql`SELECT count(*) FROM (SELECT 1 FROM (${condition.scan!}) LIMIT ${fewest})`) as [
      number,
    ];
    if (rows < fewest) [shortest, fewest] = [condition, rows];
  }
  return shortest && { condition: shortest, rows: fewest };
}
