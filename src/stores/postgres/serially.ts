import { sql } from '../sql/sql.js';

/**
 * Always true; no statement with it is divided among processes of the server, since this function may not be. To start
 * them takes longer than a bounded look, and the planner, which believes a scan to be short, would.
 */
export const SERIALLY = sql`set_config('fhirgraph.serially', '', TRUE) = ''`;

/** The same for one part of a statement: this function may run in its first process only. */
export const IN_FIRST_PROCESS = sql`pg_backend_pid() IS NOT NULL`;
