import type { FromWhere, SqlDialect } from './dialect.js';
import type { IndexTable } from './lookup.js';
import { insideParameter } from '../../search/index/inside.js';
import { allOf, FALSE, Sql, sql, type SqlValue, TRUE } from './sql.js';

/** The context in which criteria are translated. */
export interface SearchScope {
  readonly project: string;
  readonly dialect: SqlDialect;
}

/** The rows of `resource` that criteria refer to. */
export interface RowScope extends SearchScope {
  readonly type: string;
  /** The key of (project, type); undefined if the project never had or referenced such a resource. */
  readonly collection: SqlValue | undefined;
  /** The name of the row in the statement. */
  readonly row: Sql;
  /** 0 for the searched resource, plus 1 for each enclosing chain and `_has`. */
  readonly depth: number;
  /** If set, criteria refer to the contained resource of `type` with this number in the resource of the row. */
  readonly inside?: Sql;
  /** True after a chain has left a contained resource: it must not enter another. */
  readonly sealed?: boolean;
}

/** The rows of a type in a project. */
export function rowScope({ project, dialect }: SearchScope, type: string, depth = 0): RowScope {
  const collection = dialect.collection(project, type);
  return { project, dialect, type, collection, row: new Sql(`r${depth}`, []), depth };
}

/** The rows of a type at the other end of a reference. */
export function innerScope(outer: RowScope, type: string): RowScope {
  return rowScope(outer, type, outer.depth + 1);
}

/** The scope of a chain's target; sealed if the chain comes out of a contained resource. */
export function chainScope(outer: RowScope, type: string): RowScope {
  const target = innerScope(outer, type);
  return outer.inside === undefined && outer.sealed !== true ? target : { ...target, sealed: true };
}

/** The scope of a contained resource of the type in the resource of the row. */
export function insideScope(outer: RowScope, type: string, number: Sql): RowScope {
  return { ...outer, type, depth: outer.depth + 1, inside: number };
}

/** The key of a parameter; undefined if no resource ever had a value of it. */
export function parameterKey({ collection, dialect, inside, type }: RowScope, code: string): SqlValue | undefined {
  if (collection === undefined) return undefined;
  return dialect.parameter(collection, inside === undefined ? code : insideParameter(type, code));
}

/** A join to the row of `resource` with a key from an earlier row in FROM. */
export function joinByKey(row: Sql, key: Sql, { dialect, project }: SearchScope): Sql {
  return dialect.joinByKey?.(row, key, project) ?? sql`${dialect.join} resource ${row} ON ${row}.key = ${key}`;
}

/** The condition that the row of an index table holds a value of the parameter. */
export function ofParameter(x: Sql, key: SqlValue, scope: RowScope): Sql {
  return allOf([scope.dialect.ofParameter(x, scope.project, key), isInside(x, scope)]);
}

/** Like {@link ofParameter}, for a component of a composite parameter, within a group of the resource. */
export function ofComponent(x: Sql, key: SqlValue, scope: RowScope): Sql {
  return allOf([scope.dialect.ofParameter(x, scope.project, key), isComponentInside(x, scope)]);
}

/** The values that one resource has of a parameter. */
export function valuesOf(table: IndexTable, x: Sql, resource: Sql, key: SqlValue, scope: RowScope): FromWhere {
  const { from, where } = scope.dialect.byResource(table, x, resource, scope.project, key);
  return { from, where: allOf([where, isInside(x, scope)]) };
}

/** Like {@link valuesOf}, for a component of a composite parameter. */
export function componentValues(table: IndexTable, x: Sql, resource: Sql, key: SqlValue, scope: RowScope): FromWhere {
  const { from, where } = scope.dialect.byResource(table, x, resource, scope.project, key);
  return { from, where: allOf([where, isComponentInside(x, scope)]) };
}

/** The condition that the value belongs to the contained resource that criteria refer to; TRUE in other scopes. */
function isInside(x: Sql, { inside }: RowScope): Sql {
  return inside === undefined ? TRUE : sql`${x}.grp = ${inside}`;
}

function isComponentInside(x: Sql, { inside }: RowScope): Sql {
  return inside === undefined ? TRUE : sql`(${x}.grp & 65535) = ${inside}`;
}

/** The condition that the row has a current version: it is neither deleted nor only a reference target. */
export function isCurrent({ row, project, collection, dialect }: RowScope): Sql {
  return collection === undefined ? FALSE : dialect.isCurrent(row, project, collection);
}

/** The remaining condition on a row found through an index table; such a row is always current. */
export function isFound({ row, project, dialect }: RowScope): Sql {
  return dialect.isFound(row, project);
}

/** Always true, but ends the statement at its deadline, on databases that need it. */
export function inTime(key: Sql, { dialect }: SearchScope): Sql {
  return dialect.inTime?.(key) ?? TRUE;
}

/**
 * The plan for finding matches: the rows with keys from `scan`, filtered by `residual`.
 *
 * Without a scan, `residual` filters all current rows of the collection. Scans only find current rows.
 */
export interface RowPlan {
  readonly scan?: Sql;
  /** Like `scan`, possibly with outdated rows or rows of other types. Set if excluding them takes another look-up. */
  readonly wide?: Sql;
  readonly residual: Sql;
}

/** The condition that is true for exactly the rows of a plan. */
export function inPlan(plan: RowPlan, scope: RowScope): Sql {
  const { scan, residual } = plan;
  if (scan === undefined || scope.dialect.plans) {
    return allOf([isCurrent(scope), inTime(sql`${scope.row}.key`, scope), amongCurrent(plan, scope)]);
  }
  return allOf([sql`${scope.row}.key IN (${scan})`, inTime(sql`${scope.row}.key`, scope), residual]);
}

/** The condition of a plan on a row that is current. */
export function amongCurrent({ scan, wide = scan, residual }: RowPlan, { row }: RowScope): Sql {
  return wide === undefined ? residual : allOf([sql`${row}.key IN (${wide})`, residual]);
}
