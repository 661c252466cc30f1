import type { OperatorScope } from './operators.js';
import { allOf, FALSE, Sql, sql } from './sql.js';

/** The rows of `resource` that criteria speak of. */
export interface RowScope extends OperatorScope {
  readonly type: string;
  /** Key of (project, type); undefined while the project has never had or referred to such a resource. */
  readonly collection: number | undefined;
  /** The name of the row in the statement. */
  readonly row: Sql;
  /** 0 for the resource searched, one more inside each chain and `_has`. */
  readonly depth: number;
}

/** The rows of a type in a project. */
export function rowScope({ project, dictionaries }: OperatorScope, type: string, depth = 0): RowScope {
  const collection = dictionaries.collections.find(project, type);
  return { project, dictionaries, type, collection, row: new Sql(`r${depth}`, []), depth };
}

/** The same for the other end of a reference. */
export function innerScope(outer: RowScope, type: string): RowScope {
  return rowScope(outer, type, outer.depth + 1);
}

/** The key of a parameter; undefined while no resource has had a value of it. */
export function parameterKey({ collection, dictionaries }: RowScope, code: string): number | undefined {
  return collection === undefined ? undefined : dictionaries.parameters.find(collection, code);
}

/** The row is there now: neither deleted nor only referred to. */
export function isCurrent({ row, collection }: RowScope): Sql {
  return collection === undefined ? FALSE : sql`${row}.collection = ${collection} AND ${row}.content IS NOT NULL`;
}

/**
 * How to find what matches: the rows whose key is in `scan`, narrowed by `residual`.
 *
 * Without a scan, they are all current rows of the collection. What a scan finds is always current.
 */
export interface RowPlan {
  readonly scan?: Sql;
  readonly residual: Sql;
}

/** The condition that is true for exactly the rows of a plan. */
export function inPlan({ scan, residual }: RowPlan, scope: RowScope): Sql {
  return allOf([scan === undefined ? isCurrent(scope) : sql`${scope.row}.key IN (${scan})`, residual]);
}
