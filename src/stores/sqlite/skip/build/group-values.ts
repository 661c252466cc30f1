import { TABLE_NAMES } from '../../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../../sql/rows.js';
import {
  type GroupedComposite,
  groupedComposites,
  type GroupKind,
  MAX_CODE,
  MAX_KINDS,
} from '../../../sql/skip/value-groups.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';

// The groups of a composite with a code: see sql/skip/value-groups.ts.

/** The components of a composite that has ever had a value. */
export interface GroupKeys extends Pick<GroupedComposite, 'table'> {
  /** The component of the values. */
  readonly parameter: string;
  readonly code: number;
  readonly value: number;
}

export function groupKeys(scope: RowScope): readonly GroupKeys[] {
  return groupedComposites(scope.dialect.model, scope.type).flatMap((composite) => {
    const [code, value] = [composite.code, composite.value].map(
      (one) => parameterKey(scope, one) as number | undefined,
    );
    return code === undefined || value === undefined
      ? []
      : [{ parameter: composite.value, code, value, table: composite.table }];
  });
}

/** Selects the resource and the value of each group with a code. @param keys a JSON list of resources; undefined: all */
export function groupValues(composite: GroupKeys, name: string, keys?: string): Sql {
  return sql`SELECT x0.resource, ${VALUES[composite.table]} FROM ${groups(composite, name, keys)}`;
}

/** {@link groupValues} in the order of the values, a column at a time: the rows of a frequent code take much memory. */
export function orderedGroups(composite: GroupKeys, name: string): readonly [resources: Sql, values: Sql] {
  const value = VALUES[composite.table];
  const rows = sql`FROM ${groups(composite, name, undefined)} ORDER BY ${value}, x0.resource`;
  return [sql`SELECT x0.resource ${rows}`, sql`SELECT ${value} ${rows}`];
}

const VALUES = { quantity: sql`x1.low`, token: sql`x1.code` };

/** Selects the {@link GroupKind}s, each with whether its value is an interval or a long code. */
export function groupKinds(composite: GroupKeys, name: string, keys?: string): Sql {
  return sql`SELECT DISTINCT x0.system, ${KINDS[composite.table]}
    FROM ${groups(composite, name, keys)} LIMIT ${MAX_KINDS + 1}`;
}

const KINDS = {
  quantity: sql`x1.system, x1.code, x1.unit, x1.high > x1.low`,
  token: sql`x1.system, NULL, NULL, length(x1.code) > ${MAX_CODE}`,
};

/** The kinds among the rows of {@link groupKinds}; undefined if an order of groups cannot have them. */
export function kindsOf(rows: readonly (readonly SqlValue[])[]): readonly GroupKind[] | undefined {
  if (rows.length > MAX_KINDS || rows.some(([, , , , isOther]) => isOther === 1)) return undefined;
  return rows.map(([own, system, code, unit]) => [own, system, code, unit] as GroupKind);
}

function groups({ code, value, table }: GroupKeys, name: string, keys: string | undefined): Sql {
  const hasCode = table === 'token' ? sql` AND x1.code IS NOT NULL` : sql``;
  const isInGroup = sql`x1.resource = x0.resource AND x1.parameter = ${value} AND x1.grp = x0.grp${hasCode}`;
  const ofCode = sql`x0.parameter = ${code} AND x0.code = ${name}`;
  return keys === undefined
    ? sql`token x0 INDEXED BY token_by_value CROSS JOIN ${TABLE_NAMES[table]} x1 ON ${isInGroup} WHERE ${ofCode}`
    : sql`json_each(${keys}) j CROSS JOIN token x0 ON x0.resource = j.value AND ${ofCode}
        CROSS JOIN ${TABLE_NAMES[table]} x1 ON ${isInGroup}`;
}
