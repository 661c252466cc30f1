import { parameterKey, type RowScope } from '../../../sql/rows.js';
import { groupedComposites, type GroupKind, MAX_KINDS } from '../../../sql/skip/value-groups.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';

// The groups of a composite with a code: see sql/skip/value-groups.ts.

/** The components of a composite that has ever had a value. */
export interface GroupKeys {
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
    return code === undefined || value === undefined ? [] : [{ parameter: composite.value, code, value }];
  });
}

/** Selects the resource and the value of each group with a code. @param keys a JSON list of resources; undefined: all */
export function groupValues({ code, value }: GroupKeys, name: string, keys?: string): Sql {
  return sql`SELECT x0.resource, x1.low FROM ${groups(code, value, name, keys)}`;
}

/** {@link groupValues} in the order of the values, a column at a time: the rows of a frequent code take much memory. */
export function orderedGroups({ code, value }: GroupKeys, name: string): readonly [resources: Sql, values: Sql] {
  const rows = sql`FROM ${groups(code, value, name, undefined)} ORDER BY x1.low, x0.resource`;
  return [sql`SELECT x0.resource ${rows}`, sql`SELECT x1.low ${rows}`];
}

/** Selects the {@link GroupKind}s, each with whether its value is an interval. */
export function groupKinds({ code, value }: GroupKeys, name: string, keys?: string): Sql {
  return sql`SELECT DISTINCT x0.system, x1.system, x1.code, x1.unit, x1.high > x1.low
    FROM ${groups(code, value, name, keys)} LIMIT ${MAX_KINDS + 1}`;
}

/** The kinds among the rows of {@link groupKinds}; undefined if an order of groups cannot have them. */
export function kindsOf(rows: readonly (readonly SqlValue[])[]): readonly GroupKind[] | undefined {
  if (rows.length > MAX_KINDS || rows.some(([, , , , isInterval]) => isInterval === 1)) return undefined;
  return rows.map(([own, system, code, unit]) => [own, system, code, unit] as GroupKind);
}

function groups(code: number, value: number, name: string, keys: string | undefined): Sql {
  const isInGroup = sql`x1.resource = x0.resource AND x1.parameter = ${value} AND x1.grp = x0.grp`;
  const ofCode = sql`x0.parameter = ${code} AND x0.code = ${name}`;
  return keys === undefined
    ? sql`token x0 INDEXED BY token_by_value CROSS JOIN quantity x1 ON ${isInGroup} WHERE ${ofCode}`
    : sql`json_each(${keys}) j CROSS JOIN token x0 ON x0.resource = j.value AND ${ofCode}
        CROSS JOIN quantity x1 ON ${isInGroup}`;
}
