import type { SortKey } from '../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../sql/extremes.js';
import { orderTerms } from '../../sql/order.js';
import { TABLE_NAMES, tablesOf, type ValueTable } from '../../sql/index-tables.js';
import type { Condition } from '../../sql/pages/condition.js';
import { isCurrent, ofParameter, parameterKey, type RowScope, valuesOf } from '../../sql/rows.js';
import { allOf, exists, FALSE, Sql, sql, type SqlValue, unionAll } from '../../sql/sql.js';
import { arrayText } from '../rows/array.js';
import { isNotWhole, isWhole } from '../rows/dialect.js';
import { IDS, INSTANTS } from '../rows/skip-row.js';
import { shapeScan } from './shapes.js';

/**
 * An index of resources in the order of one sort key, each once. Its row has the alias `w` in statements.
 *
 * ```text
 * _id            resource (project, type, id)
 * _lastUpdated   resource (project, type, updated)
 * date           date (project, parameter, low, high)             of rows marked smallest, or largest
 * string         string (project, parameter, sort form)           likewise
 * ```
 */
export interface OrderIndex {
  readonly from: Sql;
  /** Selects the row that represents each resource. */
  readonly where: Sql;
  /** Key of the resource. */
  readonly key: Sql;
  /** The expression by which the index orders. */
  readonly value: Sql;
  /** The sort value of the resource `r0`. */
  readonly valueOf: Sql;
  /** True if the index holds only the first 256 characters of texts; among equal ones, whole texts decide. */
  readonly isCut: boolean;
  /** True if the value is a JavaScript number. */
  readonly isNumber: boolean;
  /** The number of the order in the skip index. */
  readonly skip: number;
  /** The condition that the index lacks values, so that it cannot be walked. */
  readonly lacks: Sql;
  /** The condition of resources with this value of the index. */
  isValue(value: SqlValue): Condition;
  /** The condition of resources without a value; undefined if all have one. */
  readonly missing?: Condition;
}

/** An order of a skip index. */
export type SkipKey = Pick<OrderIndex, 'valueOf' | 'isCut' | 'isNumber' | 'skip'>;

/** Number of values of the bits of extremes.ts. */
const MARKS = 16;

const W = sql`w`;
const X = sql`x`;

/** @returns undefined if no index has the order: references are ordered by a text that no column holds */
export function orderIndexOf(sort: SortKey, scope: RowScope): OrderIndex | undefined {
  const { parameter, descending } = sort;
  if (parameter === '_id') return ofResources(sql`id`, false, scope);
  if (parameter === '_lastUpdated') return ofResources(sql`updated`, true, scope);
  const [table, other] = tablesOf(scope.dialect.model, scope.type, parameter);
  const number = parameterKey(scope, parameter);
  if (table === undefined || other !== undefined || table === 'reference' || number === undefined) return undefined;
  const { value, restriction, isCut, isNumber } = WALKS[table];
  const mark = descending ? LARGEST : SMALLEST;
  const isMarked = (x: Sql): Sql => sql`${restriction(x)} AND ${x}.extreme & ${new Sql(String(mark), [])} <> 0`;
  const ofRow = valuesOf(table, X, sql`${scope.row}.key`, number, scope);
  const where = sql`${ofParameter(W, number, scope)} AND ${isMarked(W)}`;
  // PERF: the index of codes includes the marks, which are ranges of it.
  const marks = Array.from({ length: MARKS }, (_, bits) => bits).filter((bits) => (bits & mark) !== 0);
  const isFirst =
    table === 'token' ? sql`${restriction(W)} AND w.extreme = ANY (${arrayText(marks)}::smallint[])` : isMarked(W);
  const from = sql`${TABLE_NAMES[table]} w`;
  const long = sql`SELECT 1 FROM token x WHERE ${ofParameter(X, number, scope)} AND ${isNotWhole(sql`x.code`)} AND x.code IS NOT NULL`;
  const without = shapeScan(scope.project, scope.collection!, number, 'none');
  const isMissing = sql`NOT ${exists(ofRow.from, sql`${ofRow.where} AND x.extreme & ${new Sql(String(mark), [])} <> 0`)}`;
  return {
    from,
    where,
    key: sql`w.resource`,
    value: value(W),
    valueOf: orderTerms([sort], scope)[0]!.value,
    isCut,
    isNumber,
    skip: number as number,
    lacks: table === 'token' ? sql`EXISTS (${long})` : FALSE,
    isValue: (text) => ({
      group: { order: number as number, descending, value: isNumber ? Number(text) : text },
      test: exists(ofRow.from, sql`${ofRow.where} AND ${isMarked(X)} AND ${value(X)} = ${text}`),
      scan: sql`SELECT w.resource FROM ${from} WHERE ${ofParameter(W, number, scope)} AND ${isFirst} AND ${value(W)} = ${text}`,
      direct: true,
      ...(table === 'token' && text !== null
        ? { shared: { parameter: number as number, value: text, suffices: false } }
        : {}),
    }),
    missing: {
      group: { order: number as number, descending, value: null },
      test: isMissing,
      scan: table === 'token' ? unionAll([without, codelessScan(number, scope)]) : without,
      direct: true,
    },
  };
}

function ofResources(column: Sql, isNumber: boolean, scope: RowScope): OrderIndex {
  const where = isCurrent({ ...scope, row: W });
  const value = sql`w.${column}`;
  return {
    from: sql`resource w`,
    where,
    key: sql`w.key`,
    value,
    valueOf: sql`r0.${column}`,
    isCut: false,
    isNumber,
    skip: isNumber ? INSTANTS : IDS,
    lacks: FALSE,
    isValue: (one) => ({
      test: sql`${scope.row}.${column} = ${one}`,
      scan: sql`SELECT w.key FROM resource w WHERE ${where} AND ${value} = ${one}`,
      direct: true,
    }),
  };
}

/** Resources with tokens that all lack a code: they have values, but no sort value. */
function codelessScan(parameter: SqlValue, scope: RowScope): Sql {
  const { from, where } = valuesOf('token', X, sql`z.resource`, parameter, scope);
  return sql`SELECT z.resource FROM token z WHERE ${ofParameter(sql`z`, parameter, scope)} AND ${isNotWhole(sql`z.code`)} AND z.code IS NULL
    AND NOT ${exists(from, sql`${where} AND x.extreme & 3 <> 0`)}`;
}

/** The value and the condition by which the rows `w` of a table are in an order. */
export function orderedRows(table: Exclude<ValueTable, 'reference'>): OrderedRows {
  const { value, restriction, isNumber } = WALKS[table];
  return { value: value(W), restriction: restriction(W), isNumber };
}

export interface OrderedRows {
  readonly value: Sql;
  readonly restriction: Sql;
  readonly isNumber: boolean;
}

interface Walk {
  value(x: Sql): Sql;
  readonly isCut: boolean;
  readonly isNumber: boolean;
  /** The condition as written in the index, so that PostgreSQL uses the index. */
  restriction(x: Sql): Sql;
}

const plain = (x: Sql): Sql => sql`${x}.grp = 0`;

const WALKS: { readonly [Table in Exclude<ValueTable, 'reference'>]: Walk } = {
  token: { value: (x) => sql`${x}.code`, isCut: false, isNumber: false, restriction: (x) => isWhole(sql`${x}.code`) },
  string: {
    value: (x) => sql`left(coalesce(${x}."collation", ${x}.folded), 256)`,
    isCut: true,
    isNumber: false,
    restriction: (x) => allOf([plain(x), sql`${x}.extreme & 3 <> 0`]),
  },
  date: { value: (x) => sql`${x}.low`, isCut: false, isNumber: true, restriction: plain },
  quantity: { value: (x) => sql`${x}.low`, isCut: false, isNumber: true, restriction: plain },
  uri: { value: (x) => sql`left(${x}.value, 256)`, isCut: true, isNumber: false, restriction: plain },
};
