import { projectKey } from '../rows/keys.js';
import { allOf, type Sql, sql, type SqlValue } from '../../sql/sql.js';

/** How many values of a parameter a resource has. */
export type Occurrence = 'none' | 'some' | 'several';

/** The keys of the current resources of a type that have no value, some, or several of a parameter: a range of an index per shape. */
export function shapeScan(project: string, type: SqlValue, parameter: SqlValue, occurrence: Occurrence): Sql {
  return ofShapes(project, type, shapesWith(project, type, parameter, occurrence));
}

/** The shapes that resources of a type have, or had, with no value, some, or several of a parameter. */
export function shapesWith(project: string, type: SqlValue, parameter: SqlValue, occurrence: Occurrence): Sql {
  return shapes(project, type, hasOccurrence(parameter, occurrence));
}

/** The keys of the current resources of a type that have values of some parameters and none of others. */
export function shapesWithAll(project: string, type: SqlValue, needed: ReadonlyMap<SqlValue, boolean>): Sql {
  const conditions = [...needed].map(([parameter, present]) => hasOccurrence(parameter, present ? 'some' : 'none'));
  return ofShapes(project, type, shapes(project, type, allOf(conditions)));
}

function ofShapes(project: string, type: SqlValue, keys: Sql): Sql {
  return sql`SELECT y.key FROM (${keys}) s CROSS JOIN LATERAL (
    SELECT r.key FROM resource r WHERE r.project = ${projectKey(project)} AND r.type = ${type} AND r.content IS NOT NULL
      AND r.shape = s.key OFFSET 0) y`;
}

function shapes(project: string, type: SqlValue, condition: Sql): Sql {
  return sql`SELECT s.key FROM fhirgraph_shape s WHERE s.project = ${projectKey(project)} AND s.type = ${type} AND ${condition}`;
}

function hasOccurrence(parameter: SqlValue, occurrence: Occurrence): Sql {
  const several = sql`-(${parameter}::bigint) = ANY (s.parameters)`;
  const any = sql`s.parameters && ARRAY[${parameter}::bigint, -(${parameter}::bigint)]`;
  return occurrence === 'several' ? several : occurrence === 'some' ? any : sql`NOT ${any}`;
}
