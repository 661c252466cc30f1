import { sql } from '../../sql/sql.js';

/**
 * Always true. A statement with it is not divided among processes of the server, because this function is not parallel
 * safe. Starting processes takes longer than a bounded look, but the planner, which misjudges the scan, would start
 * them.
 */
export const SERIALLY = sql`set_config('fhirgraph.serially', '', TRUE) = ''`;
