import { sql, type Sql } from '../../../sql/sql.js';
import type { RowScope } from '../../../sql/rows.js';
import { projectKey } from '../../rows/keys.js';
import type { Run } from '../../database/run.js';
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

/** Where skip indexes are read. */
export interface SkipSource {
  readonly epoch: string;
  readonly cache: SkipCache;
  /** Called with each type that lacks a skip index. */
  readonly noteStale?: NoteStale | undefined;
}

/** Shows whether a skip index can be used. */
export interface SkipState {
  /** Undefined where the type has no valid skip index. */
  readonly header: SkipHeader | undefined;
  /** The number of resources written since, up to a limit. */
  readonly pending: number;
}

/** Reads which skip index a type has. */
export async function skipState({ project, type }: RowScope, epoch: string, run: Run): Promise<SkipState> {
  const of = ofType(project, type);
  const [row] =
    await run(sql`SELECT (SELECT s.data FROM fhirgraph_skip s WHERE ${of} AND s.sort = ${SETS}::bigint AND s.subject = ${IDS}::bigint AND s.value = ${HEADER}),
    (SELECT count(*) FROM (SELECT 1 FROM fhirgraph_skip_written s WHERE ${of} LIMIT ${SKIP_TUNING.maxPending + 1}) w)`);
  const [text, count] = row as readonly [string | null, unknown];
  const header = text === null ? undefined : (JSON.parse(text) as SkipHeader);
  const isValid = header !== undefined && header.format === FORMAT && header.epoch === epoch;
  return { header: isValid ? header : undefined, pending: Number(count) };
}

/** Tests that a row `s` of the tables of skip indexes is of a type. */
export function ofType(project: string, type: string): Sql {
  return sql`s.project = ${projectKey(project)} AND s.type = ${type}`;
}
