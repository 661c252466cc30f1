import type { RowScope } from '../../../sql/rows.js';
import { factsOf, type ValueGroups } from '../../../sql/skip/value-groups.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import type { Statements } from '../../database/statements.js';
import { FIRST_GROUPS, type SkipSizes } from '../../rows/skip-row.js';
import { frequentValues } from './frequent-values.js';
import { type GroupKeys, groupKeys, groupKinds, kindsOf, orderedGroups } from './group-values.js';
import type { KnownRows } from './known-rows.js';

/** An order of groups: see sql/skip/value-groups.ts. */
export interface MadeGroups {
  readonly sort: number;
  readonly subject: number;
  /** The component of the values. */
  readonly parameter: string;
  readonly groups: ValueGroups;
  /** The resource and the value of each group, in the order of the values. */
  readonly rows: readonly [resources: readonly number[], values: readonly SqlValue[]];
}

/** Where the groups of a type are read. */
export interface GroupSource {
  readonly scope: RowScope;
  readonly statements: Statements;
  readonly sizes: SkipSizes;
  /** Called between statements. */
  readonly check: () => void;
}

/**
 * Makes the orders of groups of a type: for the frequent codes of each composite.
 *
 * @param known the orders to rebuild; undefined: choose them
 */
export function* madeGroups(
  { scope, statements, sizes, check }: GroupSource,
  known: Pick<KnownRows, 'groups' | 'granules'> | undefined,
): Generator<MadeGroups> {
  const column = (query: Sql): readonly SqlValue[] => {
    check();
    return statements.column(query);
  };
  for (const keys of groupKeys(scope)) {
    const { parameter, value: sort, table } = keys;
    for (const [name, subject] of known?.groups(sort) ?? frequentCodes(keys, sizes, column)) {
      const kinds = kindsOf(statements.all(groupKinds(keys, name)));
      if (kinds === undefined) continue;
      const [resources, values] = orderedGroups(keys, name).map(column) as [number[], SqlValue[]];
      if (known === undefined && values.length < sizes.granule) continue;
      const groups = factsOf(name, table, kinds, known?.granules(sort, subject)?.groups);
      yield { sort, subject, parameter, groups, rows: [resources, values] };
    }
  }
}

/** The frequent codes of a composite, each with the subject of its order. */
function frequentCodes(
  { code }: GroupKeys,
  sizes: SkipSizes,
  column: (query: Sql) => readonly SqlValue[],
): readonly (readonly [code: string, subject: number])[] {
  const rows = sql`token x INDEXED BY token_by_value WHERE x.parameter = ${code}`;
  return column(frequentValues(sql`x.code`, rows, sizes)).map((name, place) => [name as string, FIRST_GROUPS + place]);
}
