import { sql } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';
import type { Condition } from '../../sql/pages/condition.js';

/** Counts the rows of scans up to a limit, and remembers the counts of a search. */
export class Probes {
  readonly #statements: Statements;
  readonly #counts = new Map<Condition, Count>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** The condition with the shortest scan, if it has fewer rows than the limit. @param conditions each with a scan */
  shortestUnder(
    limit: number,
    conditions: readonly Condition[],
  ): { readonly condition: Condition; readonly rows: number } | undefined {
    let shortest: Condition | undefined;
    let fewest = limit;
    for (const condition of conditions) {
      const rows = this.#countUpTo(fewest, condition);
      if (rows < fewest) [shortest, fewest] = [condition, rows];
    }
    return shortest && { condition: shortest, rows: fewest };
  }

  #countUpTo(limit: number, condition: Condition): number {
    const known = this.#counts.get(condition);
    if (known !== undefined && (known.isWhole || known.rows >= limit)) return known.rows;
    const [rows] = this.#statements.get(
      sql`SELECT count(*) FROM (SELECT 1 FROM (${condition.scan!}) LIMIT ${limit})`,
    ) as [number];
    this.#counts.set(condition, { rows, isWhole: rows < limit });
    return rows;
  }
}

interface Count {
  readonly rows: number;
  /** True if the scan has no more rows than were counted. */
  readonly isWhole: boolean;
}
