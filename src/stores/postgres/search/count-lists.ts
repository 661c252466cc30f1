import { anyOf, list, Sql, sql } from '../../sql/sql.js';
import { TUNING } from '../scans/tuning.js';

/** The rows of scans as hashed lists, each read once, in which a statement looks up its rows. */
export class CountLists {
  readonly #scans: Sql[] = [];

  /** The condition that the scan finds the row `r0`. Never NULL. */
  has(scan: Sql): Sql {
    return sql`${this.#contains(scan)} IS TRUE`;
  }

  /** The condition that the scan does not find the row `r0`. */
  lacks(scan: Sql): Sql {
    return sql`${this.#contains(scan)} IS NOT TRUE`;
  }

  /**
   * The statement that selects a number, with its lists. It selects null if one of them is too long.
   *
   * @param holds ends the statement if the index has changed
   */
  around(counted: Sql, holds: Sql): Sql {
    const lists = this.#scans.map((scan, index) => {
      return sql`${name(index)} (key) AS MATERIALIZED (SELECT * FROM (${scan}) u LIMIT ${TUNING.maxCountList + 1})`;
    });
    const isLong = lists.map((_, index) => sql`(SELECT count(*) FROM ${name(index)}) > ${TUNING.maxCountList}`);
    const withLists = lists.length === 0 ? sql`` : sql`WITH ${list(lists)} `;
    return sql`${withLists}SELECT CASE WHEN ${anyOf(isLong)} THEN NULL ELSE (${counted}) END WHERE ${holds}`;
  }

  #contains(scan: Sql): Sql {
    const index = this.#scans.push(scan) - 1;
    return sql`(r0.key IN (SELECT key FROM ${name(index)}))`;
  }
}

function name(index: number): Sql {
  return new Sql(`l${index}`, []);
}
