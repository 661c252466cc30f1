import type { SortKey } from '../../search/criteria/criteria.js';
import type { PageEdge } from '../../store/guards.js';
import { tablesOf, type ValueTable } from './index-tables.js';
import { parameterKey, type RowScope, valuesOf } from './rows.js';
import { allOf, anyOf, FALSE, list, type Sql, sql, unionAll } from './sql.js';

/** One ORDER BY term of a search. */
export interface OrderTerm {
  readonly value: Sql;
  readonly descending: boolean;
}

/**
 * The order of a search: one term per sort key. Ties are ordered by id. Equal to `compareSubjects` of
 * search/evaluate/sort.ts.
 */
export function orderTerms(sort: readonly SortKey[] | undefined, scope: RowScope): readonly OrderTerm[] {
  const keys = sort ?? [];
  const last = keys.findIndex(({ parameter }) => parameter === '_id');
  // Ids are unique, so later keys have no effect.
  const deciding = last < 0 ? keys : keys.slice(0, last + 1);
  return deciding.map((key) => ({ value: sortValue(key, scope) ?? NULL, descending: key.descending }));
}

/** The ORDER BY terms; reversed for pages that are found from their end. */
export function orderBy(terms: readonly OrderTerm[], id: Sql, backwards = false): Sql {
  return list([
    ...terms
      .filter(({ value }) => value !== NULL)
      .map(({ value, descending }) => {
        const direction = descending === backwards ? sql`ASC` : sql`DESC`;
        return sql`${value} ${direction} NULLS ${backwards ? sql`FIRST` : sql`LAST`}`;
      }),
    backwards ? sql`${id} DESC` : id,
  ]);
}

/** The condition of rows after a position, or before it. */
export function beyond(terms: readonly OrderTerm[], id: Sql, { position, before }: PageEdge): Sql {
  const rest = before ? sql`${id} < ${position.id}` : sql`${id} > ${position.id}`;
  return terms.reduceRight((ties, term, index) => {
    const value = position.values[index]!;
    const equal = value === null ? sql`${term.value} IS NULL` : sql`${term.value} = ${value}`;
    return anyOf([farther(term, value, before), allOf([equal, ties])]);
  }, rest);
}

/** Missing values come last in either direction. */
function farther({ value, descending }: OrderTerm, than: string | number | null, before: boolean): Sql {
  if (than === null) return before ? sql`${value} IS NOT NULL` : FALSE;
  const smaller = before !== descending;
  const compared = smaller ? sql`${value} < ${than}` : sql`${value} > ${than}`;
  return before ? compared : sql`(${compared} OR ${value} IS NULL)`;
}

const NULL = sql`NULL`;

/** Undefined if no resource has a value, so the key has no effect. */
function sortValue({ parameter, descending }: SortKey, scope: RowScope): Sql | undefined {
  const { row, type } = scope;
  const { targetText } = scope.dialect;
  if (parameter === '_id') return sql`${row}.id`;
  if (parameter === '_lastUpdated') return sql`${row}.updated`;
  const key = parameterKey(scope, parameter);
  if (key === undefined) return undefined;
  const tables = tablesOf(scope.dialect.model, type, parameter);
  const values = tables.map((table) => {
    const { from, where } = valuesOf(table, X, sql`${row}.key`, key, scope);
    const value = table === 'reference' ? targetText.value : ORDER_VALUES[table];
    return sql`SELECT ${value} AS value FROM ${from} ${table === 'reference' ? targetText.join : NOTHING} WHERE ${where}`;
  });
  if (values.length === 0) return undefined;
  const extreme = descending ? sql`max(value)` : sql`min(value)`;
  return sql`(SELECT ${extreme} FROM (${unionAll(values)}) AS v)`;
}

const X = sql`x`;
const NOTHING = sql``;

const ORDER_VALUES: { readonly [Table in Exclude<ValueTable, 'reference'>]: Sql } = {
  token: sql`x.code`,
  string: sql`coalesce(x.collation, x.folded)`,
  date: sql`x.low`,
  quantity: sql`x.low`,
  uri: sql`x.value`,
};
