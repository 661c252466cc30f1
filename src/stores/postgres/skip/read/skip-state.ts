import { sql, type Sql } from '../../../sql/sql.js';
import type { Row } from '../../database/lent-connection.js';
import type { Run } from '../../database/run.js';
import { arrayText } from '../../rows/array.js';
import { projectKey } from '../../rows/keys.js';
import type { SkipCache } from './skip-cache.js';
import { FORMAT, HEADER, IDS, SETS, SKIP_TUNING, type SkipHeader } from '../../rows/skip-row.js';

/** A type of a project. */
export interface StaleType {
  readonly project: string;
  readonly type: string;
  /** True while searches do not use its skip index, or will soon stop. */
  readonly isUnused: boolean;
}

/** Notes a type that lacks a skip index, or whose skip index should be rebuilt. */
export type NoteStale = (type: StaleType) => void;

/** The context in which skip indexes are read. */
export interface SkipSource {
  readonly epoch: string;
  readonly cache: SkipCache;
  /** Called with each type that lacks a skip index. */
  readonly noteStale?: NoteStale | undefined;
}

/** Shows whether a skip index can be used. */
export interface SkipState {
  /** Undefined if the type has no valid skip index. */
  readonly header: SkipHeader | undefined;
  /** The number of resources written since, up to a limit. */
  readonly pending: number;
}

/** The states of the types of a project, as of one moment. */
export class SkipStates {
  readonly #project: string;
  readonly #epoch: string;
  readonly #run: Run;
  readonly #known = new Map<string, SkipState>();

  /** @param run runs in one snapshot */
  constructor(project: string, epoch: string, run: Run) {
    this.#project = project;
    this.#epoch = epoch;
    this.#run = run;
  }

  /**
   * Reads the unknown states of some types. PERF: the states of all types that conditions lead to, and another value
   * that the search needs first, are one statement, which takes a millisecond of CPU with its answer.
   *
   * @param also an expression to read as well
   * @returns the value of that expression
   */
  async read(types: readonly string[], also?: Sql): Promise<unknown> {
    const unknown = [...new Set(types)].filter((one) => !this.#known.has(one));
    if (unknown.length === 0) return also && (await this.#run(sql`SELECT ${also}`))[0]![0];
    const of = sql`s.project = ${projectKey(this.#project)} AND s.type = t.type`;
    const rows = await this
      .#run(sql`SELECT (SELECT s.data FROM fhirgraph_skip s WHERE ${of} AND s.sort = ${SETS}::bigint AND s.subject = ${IDS}::bigint AND s.value = ${HEADER}),
      (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_skip_written s WHERE ${of} LIMIT ${SKIP_TUNING.maxPending + 1}) w), ${also ?? sql`NULL`}
      FROM unnest(${arrayText(unknown)}::text[]) WITH ORDINALITY t(type, n) ORDER BY t.n`);
    for (const [place, type] of unknown.entries()) this.#known.set(type, this.#stateOf(rows[place]!));
    return rows[0]![2];
  }

  async of(type: string): Promise<SkipState> {
    if (!this.#known.has(type)) await this.read([type]);
    return this.#known.get(type)!;
  }

  #stateOf([text, count]: Row): SkipState {
    const header = text === null ? undefined : (JSON.parse(text as string) as SkipHeader);
    const isValid = header !== undefined && header.format === FORMAT && header.epoch === this.#epoch;
    return { header: isValid ? header : undefined, pending: Number(count) };
  }
}

/** The condition that a row `s` of the tables of skip indexes belongs to a type. */
export function ofType(project: string, type: string): Sql {
  return sql`s.project = ${projectKey(project)} AND s.type = ${type}`;
}
