import type { Condition } from '../../sql/pages/condition.js';
import { list, sql } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import { SERIALLY } from '../database/serially.js';

interface Size {
  /** The number of rows read. */
  readonly looked: number;
  readonly rows: number;
}

/** The known lengths of scans. */
export class Sizes {
  readonly #known = new Map<Condition, Size>();

  /** The conditions whose scans have at most `limit` rows, the shortest first. Scans are read no further than that. */
  async upTo(limit: number, conditions: readonly Condition[], run: Run): Promise<readonly Condition[]> {
    const unknown = conditions.filter((one) => one.scan !== undefined && !this.#isKnown(one, limit));
    if (unknown.length > 0) {
      const counts = unknown.map(
        ({ scan }) => sql`(SELECT count(*) FROM (SELECT 1 FROM (${scan!}) u LIMIT ${limit + 1}) v)`,
      );
      const [row] = await run(sql`SELECT ${list(counts)} WHERE ${SERIALLY}`);
      for (const [index, one] of unknown.entries()) this.#known.set(one, { looked: limit, rows: Number(row![index]) });
    }
    return conditions
      .filter((one) => this.rowsOf(one) <= limit)
      .sort((one, other) => this.rowsOf(one) - this.rowsOf(other));
  }

  /** The length of a scan; Infinity if unknown. */
  rowsOf(condition: Condition): number {
    const size = this.#known.get(condition);
    return size === undefined || size.rows > size.looked ? Infinity : size.rows;
  }

  #isKnown(condition: Condition, limit: number): boolean {
    const size = this.#known.get(condition);
    return size !== undefined && (size.looked >= limit || size.rows <= size.looked);
  }
}
