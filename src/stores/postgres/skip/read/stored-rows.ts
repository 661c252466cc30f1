import { type Sql, sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import type { Run } from '../../database/run.js';
import { keyNames } from '../../rows/skip-row.js';
import { SortedKeys } from '../format/sorted-keys.js';

/** Reads the rows of a type in `fhirgraph_skip` that can be many: keys and references. */
export class StoredRows {
  readonly #of: Sql;
  readonly #run: Run;
  readonly #mark: string;

  /**
   * @param of the condition that a row `s` of the table belongs to the type
   * @param mark the mark of the layer
   */
  constructor(of: Sql, run: Run, mark: string) {
    this.#of = of;
    this.#run = run;
    this.#mark = mark;
  }

  /** The existing rows among these, in the order of their names. */
  async named(sort: number, subject: number, names: readonly string[]): Promise<readonly StoredRow[]> {
    const marked = arrayText(names.map((name) => this.#mark + name));
    const rows = await this
      .#run(sql`SELECT s.data, s.value FROM fhirgraph_skip s WHERE ${this.#of} AND s.sort = ${sort}::bigint
      AND s.subject = ${subject}::bigint AND s.value = ANY (${marked}::text[]) ORDER BY s.value`);
    return (rows as readonly StoredRow[]).map(([data, value]) => [data, value.slice(this.#mark.length)]);
  }

  /** {@link named} in parts. PERF: reading some megabytes takes some milliseconds, so other work gets its turn in between. */
  async *inParts(sort: number, subject: number, names: readonly string[]): AsyncGenerator<StoredRow> {
    for (let start = 0; start < names.length; start += ROWS_AT_ONCE) {
      yield* await this.named(sort, subject, names.slice(start, start + ROWS_AT_ONCE));
    }
  }

  /** @param size number of the keys */
  async keys(sort: number, subject: number, size: number): Promise<SortedKeys> {
    const parts: Buffer[] = [];
    for await (const [data] of this.inParts(sort, subject, keyNames(size))) parts.push(Buffer.from(data, 'base64'));
    return new SortedKeys(parts);
  }
}

type StoredRow = readonly [data: string, value: string];

/** Maximum rows, of half a megabyte each, that one statement reads. */
const ROWS_AT_ONCE = 4;
