import type { CompositeCriteria } from '../../search/criteria/criteria.js';
import { TABLE_NAMES } from './index-tables.js';
import { type IndexedTest, lookupsFor } from './operators.js';
import { componentValues, inTime, ofComponent, parameterKey, type RowScope } from './rows.js';
import { allOf, anyOf, exists, FALSE, Sql, sql, type SqlValue, TRUE } from './sql.js';

/** The condition that one group of component values passes all tests. */
export function compositeCondition(criteria: CompositeCriteria, scope: RowScope): Sql {
  if (criteria.tests.length === 0) return FALSE;
  const { evaluate } = scope.dialect;
  if (evaluate !== undefined && hasText(criteria)) return evaluate(criteria, scope);
  const resource = sql`${scope.row}.key`;
  return componentCondition(componentsOf(criteria, scope), resource, undefined, scope);
}

/** Selects the rows with such a group, by the index of one of the components; undefined if no index helps. */
export function compositeScans(criteria: CompositeCriteria, scope: RowScope): readonly Sql[] | undefined {
  if (!scope.dialect.measuresByValue) return undefined;
  const components = componentsOf(criteria, scope);
  for (const [index, component] of components.entries()) {
    const lookups = lookupsFor(component.test, component.x, scope);
    // Only these two tables may index their component values; see schema.ts.
    if (!lookups.every(({ table, scans }) => (table === 'token' || table === 'reference') && scans !== undefined))
      continue;
    if (component.key === undefined) return [];
    const { x } = component;
    const others = componentCondition(components.toSpliced(index, 1), sql`${x}.resource`, sql`${x}.grp`, scope);
    return lookups.flatMap(({ table, scans }) =>
      scans!.map(
        (scan) => sql`SELECT ${x}.resource FROM ${TABLE_NAMES[table]} ${x}
          WHERE ${allOf([ofComponent(x, component.key!, scope), scan, inTime(sql`${x}.resource`, scope), others])}`,
      ),
    );
  }
  return undefined;
}

interface Component {
  readonly test: IndexedTest;
  /** Key of the component's own parameter. */
  readonly key: SqlValue | undefined;
  /** The alias of the component's row. */
  readonly x: Sql;
}

function componentsOf({ parameter, tests }: CompositeCriteria, scope: RowScope): readonly Component[] {
  return tests.map((test, index) => ({
    test,
    key: parameterKey(scope, `${parameter}$${index}`),
    x: new Sql(`x${index}`, []),
  }));
}

/** The condition that a resource has values for all components in one group: `group`, or that of the first one. */
function componentCondition(
  [first, ...others]: readonly Component[],
  resource: Sql,
  group: Sql | undefined,
  scope: RowScope,
): Sql {
  if (first === undefined) return TRUE;
  const { test, key, x } = first;
  if (key === undefined) return FALSE;
  const inGroup = group === undefined ? TRUE : sql`${x}.grp = ${group}`;
  const rest = componentCondition(others, resource, group ?? sql`${x}.grp`, scope);
  return anyOf(
    lookupsFor(test, x, scope).map(({ table, condition }) => {
      const { from, where } = componentValues(table, x, resource, key, scope);
      return exists(from, allOf([where, inGroup, condition, rest]));
    }),
  );
}

function hasText({ tests }: CompositeCriteria): boolean {
  return tests.some(({ kind }) => kind === 'text');
}
