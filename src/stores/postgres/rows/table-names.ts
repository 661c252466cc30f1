import { TABLE_NAMES } from '../../sql/index-tables.js';
import { type Sql, sql } from '../../sql/sql.js';
import { ALL_INDEX_TABLES } from './index-rows.js';

/** Every table that grows with the resources. */
export const GROWING_TABLES: readonly Sql[] = [
  ...[
    sql`resource`,
    sql`version`,
    sql`unique_key`,
    sql`fhirgraph_change`,
    sql`fhirgraph_segment_list`,
    sql`fhirgraph_segment_row`,
    sql`fhirgraph_segment_written`,
  ],
  ...ALL_INDEX_TABLES.map((table) => TABLE_NAMES[table]),
];
