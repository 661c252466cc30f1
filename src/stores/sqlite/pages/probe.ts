import { type Sql, sql } from '../../sql/sql.js';
import type { Statements } from '../database/statements.js';

/** Counts the rows of scans up to a limit, and remembers the counts of a search. */
export class Probes {
  readonly #counts = new Map<Scanned, Count>();

  constructor(private readonly statements: Statements) {}

  /** The one with the shortest scan, if it has fewer rows than the limit. @param all each with a scan */
  shortestUnder<One extends Scanned>(
    limit: number,
    all: readonly One[],
  ): { readonly condition: One; readonly rows: number } | undefined {
    let shortest: One | undefined;
    let fewest = limit;
    for (const one of all) {
      const rows = this.#countUpTo(fewest, one);
      if (rows < fewest) [shortest, fewest] = [one, rows];
    }
    return shortest && { condition: shortest, rows: fewest };
  }

  #countUpTo(limit: number, one: Scanned): number {
    const known = this.#counts.get(one);
    if (known !== undefined && (known.isWhole || known.rows >= limit)) return known.rows;
    const [rows] = this.statements.get(sql`SELECT count(*) FROM (SELECT 1 FROM (${one.scan!}) LIMIT ${limit})`) as [
      number,
    ];
    this.#counts.set(one, { rows, isWhole: rows < limit });
    return rows;
  }
}

interface Scanned {
  readonly scan?: Sql | undefined;
}

interface Count {
  readonly rows: number;
  /** True if the scan has no more rows than were counted. */
  readonly isWhole: boolean;
}
