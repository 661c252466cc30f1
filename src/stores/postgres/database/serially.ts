import { sql } from '../../sql/sql.js';

/**
 * Always true; no statement with it is divided among processes of the server, since this function may not be. To start
 * them takes longer than a bounded look, and the planner, which believes a scan to be short, would.
 */
export const SERIALLY = sql`set_config('fhirgraph.serially', '', TRUE) = ''`;
