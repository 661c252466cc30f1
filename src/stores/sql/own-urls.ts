import { ofParameter, type RowScope, type SearchScope, valuesOf } from './rows.js';
import { allOf, type Sql, sql, type SqlValue } from './sql.js';

// The table `uri` holds absolute references below the service's own base as written. For queries with a base, these
// functions find them as local references; other queries are unaffected.

const X = sql`x`;
const T = sql`t`;

/** Ranges of the URLs of resources of these types, with these ids; undefined: any. */
export function ownUrlRanges(
  types: readonly string[] | undefined,
  ids: readonly string[] | undefined,
  x: Sql,
  { baseUrl, dialect: { indexed, model } }: SearchScope,
): readonly Sql[] {
  if (baseUrl === undefined) return [];
  const value = sql`${x}.value`;
  if (ids === undefined) {
    const prefixes = types === undefined ? [`${baseUrl}/`] : types.map((type) => `${baseUrl}/${type}/`);
    return prefixes.map((prefix) => indexed.startsWith(value, prefix));
  }
  const urls = (types ?? model.resourceTypes).flatMap((type) => ids.map((id) => `${baseUrl}/${type}/${id}`));
  return urls.length === 0 ? [] : [indexed.isOneOf(value, urls)];
}

/** The condition that the row `x` holds the absolute URL of a resource of the type. */
export function isOwnUrl(x: Sql, type: string, { baseUrl, dialect }: SearchScope): Sql {
  return dialect.indexed.startsWith(sql`${x}.value`, `${baseUrl!}/${type}/`);
}

/** The id in the absolute URL of a resource of the type. */
export function idInUrl(x: Sql, type: string, { baseUrl }: SearchScope): Sql {
  return sql`substr(${x}.value, ${`${baseUrl!}/${type}/`.length + 1})`;
}

/** The condition that the row `x` holds the absolute URL of the resource of `row`. */
function isUrlOf(x: Sql, row: Sql, type: string, { baseUrl, dialect }: SearchScope): Sql {
  return dialect.indexed.equals(sql`${x}.value`, sql`(${`${baseUrl!}/${type}/`} || ${row}.id)`);
}

/** Selects the keys of resources of the target's type that the current row references by the parameter. */
export function targetsOfRow(key: SqlValue, scope: RowScope, target: RowScope): Sql {
  const { dialect, row } = scope;
  const references = valuesOf('reference', X, sql`${row}.key`, key, scope);
  const urls = valuesOf('uri', X, sql`${row}.key`, key, scope);
  return sql`SELECT x.target FROM ${references.from} WHERE ${references.where}
    UNION ALL SELECT t.key FROM ${urls.from} ${dialect.joinById(T, idInUrl(X, target.type, scope), scope.project, target.collection!)}
      WHERE ${allOf([urls.where, isOwnUrl(X, target.type, scope), dialect.isCurrent(T, scope.project, target.collection!)])}`;
}

/** Selects the keys of resources that reference the current row by the parameter of the source. */
export function sourcesOfRow(key: SqlValue, scope: RowScope, source: RowScope): Sql {
  const ofKey = ofParameter(X, key, source);
  return sql`SELECT x.resource FROM reference x WHERE ${ofKey} AND x.target = ${scope.row}.key
    UNION ALL SELECT x.resource FROM uri x WHERE ${ofKey} AND x.grp = 0 AND ${isUrlOf(X, scope.row, scope.type, scope)}`;
}
