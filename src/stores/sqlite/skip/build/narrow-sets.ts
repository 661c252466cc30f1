import { TABLE_NAMES, tablesOf, type ValueTable } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { narrowComponents } from '../../../sql/skip/narrow-components.js';
import { Sql, sql, type SqlValue } from '../../../sql/sql.js';

/** A component of a composite, and the table of its values. */
export interface Component {
  readonly key: number;
  readonly table: ValueTable;
}

/** A narrow component that has ever had a value, and the key of its plain parameter. */
export interface NarrowKeys {
  readonly component: Component;
  readonly plain: number;
}

/** The narrow components of a type: see sql/skip/narrow-components.ts. */
export function narrowKeys(scope: RowScope): readonly NarrowKeys[] {
  const { model } = scope.dialect;
  return narrowComponents(model, scope.type).flatMap(({ component, plain }) => {
    const [key, plainKey] = [component, plain].map((code) => parameterKey(scope, code) as number | undefined);
    if (key === undefined || plainKey === undefined) return [];
    return [{ component: { key, table: tablesOf(model, scope.type, component)[0]! }, plain: plainKey }];
  });
}

/** The resources with a value of a component. @param among the resources with a value of its plain parameter */
export function withComponent(
  component: Component,
  among: KeySet,
  column: (query: Sql) => readonly SqlValue[],
): KeySet {
  const found = new KeySet(among.first, among.size);
  const keys = among.keys();
  for (let start = 0; start < keys.length; start += KEYS_TOGETHER) {
    const some = JSON.stringify(keys.slice(start, start + KEYS_TOGETHER));
    const holders = column(
      sql`SELECT j.value FROM json_each(${some}) j WHERE ${hasComponent(component, sql`j.value`)}`,
    ) as readonly number[];
    for (const key of holders) found.add(key);
  }
  return found;
}

/** Whether a resource has a value of a component. */
export function hasComponent({ key, table }: Component, resource: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM ${TABLE_NAMES[table]} x INDEXED BY ${new Sql(`sqlite_autoindex_${table}_1`, [])}
    WHERE x.resource = ${resource} AND x.parameter = ${key})`;
}

/** Keys per statement: some milliseconds. */
const KEYS_TOGETHER = 8_192;
