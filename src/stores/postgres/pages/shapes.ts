import { projectKey } from '../keys.js';
import { type Sql, sql, type SqlValue } from '../../sql/sql.js';

/** What a resource has of a parameter. */
export type Occurrence = 'none' | 'some' | 'several';

/** The keys of the current resources of a type that have no value, some, or several of a parameter: a range of an index per shape. */
export function shapeScan(project: string, type: SqlValue, parameter: SqlValue, occurrence: Occurrence): Sql {
  return sql`SELECT y.key FROM resource y WHERE y.project = ${projectKey(project)} AND y.type = ${type} AND y.content IS NOT NULL
    AND y.shape = ANY (ARRAY(${shapesWith(project, type, parameter, occurrence)}))`;
}

function shapesWith(project: string, type: SqlValue, parameter: SqlValue, occurrence: Occurrence): Sql {
  const several = sql`-(${parameter}::bigint) = ANY (s.parameters)`;
  const any = sql`s.parameters && ARRAY[${parameter}::bigint, -(${parameter}::bigint)]`;
  const condition = occurrence === 'several' ? several : occurrence === 'some' ? any : sql`NOT ${any}`;
  return sql`SELECT s.key FROM fhirgraph_shape s WHERE s.project = ${projectKey(project)} AND s.type = ${type} AND ${condition}`;
}
