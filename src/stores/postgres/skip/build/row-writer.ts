import { sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import type { Row } from '../format/number-texts.js';

/** Writes rows of a skip index, many at a time: see made-rows.ts. */
export class RowWriter {
  readonly #runner: Runner;
  readonly #type: { readonly project: string; readonly type: string };
  readonly #mark: string;
  #rows: Row[] = [];
  #length = 0;

  /** @param mark the mark of the layer */
  constructor(runner: Runner, type: { readonly project: string; readonly type: string }, mark = '') {
    this.#runner = runner;
    this.#type = type;
    this.#mark = mark;
  }

  async add(row: Row): Promise<void> {
    this.#rows.push(row);
    this.#length += row.data.length;
    if (this.#length > MAX_BATCH) await this.flush();
  }

  async flush(): Promise<void> {
    const { project, type } = this.#type;
    const columns = [
      arrayText(this.#rows.map(({ sort }) => sort)),
      arrayText(this.#rows.map(({ subject }) => subject)),
      arrayText(this.#rows.map(({ value }) => this.#mark + value)),
      arrayText(this.#rows.map(({ data }) => data)),
    ] as const;
    this.#rows = [];
    this.#length = 0;
    await this.#runner.run(sql`INSERT INTO fhirgraph_made (project, type, sort, subject, value, data)
      SELECT ${projectKey(project)}::uuid, ${type}::text, r.* FROM unnest(${columns[0]}::bigint[], ${columns[1]}::bigint[],
        ${columns[2]}::text[], ${columns[3]}::text[]) r`);
  }
}

/** Maximum characters of rows that are written together. */
const MAX_BATCH = 1_000_000;
