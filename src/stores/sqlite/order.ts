import type { SortKey } from '../../search/criteria.js';
import { TABLE_NAMES, tablesOf } from './index-tables.js';
import type { IndexTable } from './operators.js';
import { parameterKey, type RowScope } from './rows.js';
import { list, type Sql, sql, unionAll } from './sql.js';

/**
 * The ORDER BY terms of a search: its keys, then the id.
 *
 * Equal to `compareSubjects` of search/sort.ts, but for strings with characters outside the Basic Multilingual Plane:
 * SQLite orders by code point, so these come after, not before, the characters from U+E000 to U+FFFF.
 */
export function orderBy(sort: readonly SortKey[] | undefined, scope: RowScope): Sql {
  const terms: Sql[] = [];
  for (const key of sort ?? []) {
    const value = sortValue(key, scope);
    if (value !== undefined) terms.push(key.descending ? sql`${value} DESC NULLS LAST` : sql`${value} ASC NULLS LAST`);
    // Nothing after the id can still decide.
    if (key.parameter === '_id') return list(terms);
  }
  return list([...terms, sql`${scope.row}.id`]);
}

/** Undefined where no resource has a value, so that the key decides nothing. */
function sortValue({ parameter, descending }: SortKey, scope: RowScope): Sql | undefined {
  const { row, type } = scope;
  if (parameter === '_id') return sql`${row}.id`;
  if (parameter === '_lastUpdated') return sql`${row}.updated`;
  const key = parameterKey(scope, parameter);
  if (key === undefined) return undefined;
  const values = tablesOf(type, parameter).map(
    (table) => sql`SELECT ${ORDER_VALUES[table]} AS value FROM ${TABLE_NAMES[table]} x ${JOINS[table] ?? NOTHING}
      WHERE x.resource = ${row}.key AND x.parameter = ${key}`,
  );
  if (values.length === 0) return undefined;
  const extreme = descending ? sql`max(value)` : sql`min(value)`;
  return sql`(SELECT ${extreme} FROM (${unionAll(values)}))`;
}

const NOTHING = sql``;

const ORDER_VALUES: { readonly [Table in IndexTable]: Sql } = {
  token: sql`x.code`,
  string: sql`coalesce(x.collation, x.folded)`,
  date: sql`x.low`,
  quantity: sql`x.low`,
  reference: sql`c.type || '/' || t.id`,
  uri: sql`x.value`,
};

const JOINS: { readonly [Table in IndexTable]?: Sql } = {
  reference: sql`CROSS JOIN resource t ON t.key = x.target CROSS JOIN collection c ON c.key = t.collection`,
};
