import type { SortKey } from '../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../sql/extremes.js';
import { tablesOf, type ValueTable } from '../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, Sql, sql } from '../../sql/sql.js';

/**
 * An index of resources in the order of one sort key, each once. Its row has the alias `w` in statements.
 *
 * ```text
 * _id            resource (collection, id)
 * _lastUpdated   resource_by_updated (collection, updated, key)
 * date           date_by_value (parameter, low, high, resource)         of rows marked smallest, or largest
 * string         string_by_place (parameter, sort form, resource)       likewise
 * ```
 */
export interface OrderIndex {
  readonly from: Sql;
  /** Selects the row that represents each resource. */
  readonly where: Sql;
  /** Key of the resource. */
  readonly key: Sql;
  /** The sort value. */
  readonly value: Sql;
  /** True if the value is an expression, which SQLite cannot compare as part of a row value. */
  readonly isExpression?: boolean;
  /** The columns after the value, which make rows unique. */
  readonly rest: readonly Sql[];
  /** True if no two resources have the same value. */
  readonly unique: boolean;
  /** Condition that the resource `r0` has no value; undefined if all have one. */
  readonly isMissing?: Sql;
}

/** @returns undefined if no index has the order: references are ordered by a text that no column holds */
export function orderIndexOf({ parameter, descending }: SortKey, scope: RowScope): OrderIndex | undefined {
  const { collection, row } = scope;
  if (parameter === '_id') {
    return {
      from: sql`resource w INDEXED BY sqlite_autoindex_resource_1`,
      where: sql`w.collection = ${collection!}`,
      key: sql`w.key`,
      value: sql`w.id`,
      rest: [],
      unique: true,
    };
  }
  if (parameter === '_lastUpdated') {
    return {
      from: sql`resource w INDEXED BY resource_by_updated`,
      where: sql`w.collection = ${collection!} AND w.content IS NOT NULL`,
      key: sql`w.key`,
      value: sql`w.updated`,
      rest: [sql`w.key`],
      unique: false,
    };
  }
  const [table, other] = tablesOf(scope.dialect.model, scope.type, parameter);
  const number = parameterKey(scope, parameter);
  if (table === undefined || other !== undefined || number === undefined) return undefined;
  if (table === 'quantity' || table === 'reference') return undefined;
  if (table === 'token' && scope.dialect.listsCodes?.(number, undefined) === false) return undefined;
  const { columns, index, value, restriction } = WALKS[table];
  const mark = descending ? LARGEST : SMALLEST;
  const w = new Sql('w', []);
  const name = new Sql(table, []);
  const own = (x: Sql): Sql => sql`${x}.parameter = ${number} AND ${restriction(x)} AND ${x}.extreme & ${mark}`;
  const key = new Sql(`sqlite_autoindex_${table}_1`, []);
  return {
    from: sql`${name} w INDEXED BY ${index}`,
    where: own(w),
    key: sql`w.resource`,
    value: value(w),
    isExpression: table === 'string',
    rest: columns.map((column) => sql`w.${column}`),
    unique: false,
    isMissing: sql`NOT EXISTS (SELECT 1 FROM ${name} x INDEXED BY ${key} WHERE x.resource = ${row}.key AND ${own(sql`x`)})`,
  };
}

interface Walk {
  readonly index: Sql;
  value(x: Sql): Sql;
  readonly columns: readonly Sql[];
  /** The condition as written in the index, so that SQLite uses the index. */
  restriction(x: Sql): Sql;
}

const plain = (x: Sql): Sql => sql`${x}.grp = 0`;
const RESOURCE = sql`resource`;

const WALKS: { readonly [Table in Exclude<ValueTable, 'quantity' | 'reference'>]: Walk } = {
  token: { index: sql`token_by_value`, value: (x) => sql`${x}.code`, columns: [RESOURCE], restriction: plain },
  string: {
    index: sql`string_by_place`,
    value: (x) => sql`coalesce(${x}.collation, ${x}.folded)`,
    columns: [RESOURCE],
    restriction: (x) => allOf([plain(x), sql`${x}.extreme & 3 <> 0`]),
  },
  date: { index: sql`date_by_value`, value: (x) => sql`${x}.low`, columns: [sql`high`, RESOURCE], restriction: plain },
  uri: { index: sql`uri_by_value`, value: (x) => sql`${x}.value`, columns: [RESOURCE], restriction: plain },
};
