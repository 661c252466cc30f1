import { getOrCreate } from '../../../../platform/maps.js';
import { holdsIntervals, tablesOf } from '../../../sql/index-tables.js';
import type { RowScope } from '../../../sql/rows.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';
import { PRESENCE, SEVERAL } from '../../rows/skip-row.js';
import { narrowKeys, withComponent } from './narrow-sets.js';

/** The resources with a value of a parameter or narrow component, or with several. */
export type PresenceSet = readonly [subject: number, value: typeof PRESENCE | typeof SEVERAL, set: KeySet];

/**
 * Finds the resources with values. Resources of one shape have values of the same parameters: see shapes.ts.
 *
 * @param parameters the parameters of the type, except components
 * @param shapes the numbers and parameters of the type's shapes
 * @param all all resources of the type
 */
export function* presenceSets(
  scope: RowScope,
  parameters: readonly (readonly [key: number, code: string])[],
  shapes: readonly (readonly [shape: number, parameters: string])[],
  column: (query: Sql) => readonly SqlValue[],
  all: KeySet,
): Generator<PresenceSet> {
  const none = (): KeySet => new KeySet(all.first, all.size);
  const sets = new Map<number, { readonly some: KeySet; readonly several: KeySet }>();
  for (const [shape, signed] of shapes) {
    const keys = column(
      sql`SELECT y.key FROM resource y INDEXED BY resource_by_shape WHERE y.shape = ${shape}`,
    ) as readonly number[];
    for (const parameter of JSON.parse(signed) as number[]) {
      const { some, several } = getOrCreate(sets, Math.abs(parameter), () => ({ some: none(), several: none() }));
      for (const key of keys) some.add(key);
      if (parameter < 0) for (const key of keys) several.add(key);
    }
  }
  const codes = new Map(parameters);
  for (const [parameter, { some, several }] of sets) {
    yield [parameter, PRESENCE, some];
    const code = codes.get(parameter);
    // The sets of dates and numbers come with their orders.
    const isOwn = code !== undefined && !holdsIntervals(tablesOf(scope.dialect.model, scope.type, code)[0]);
    if (isOwn) yield [parameter, SEVERAL, several];
  }
  for (const { component, plain } of narrowKeys(scope)) {
    yield [component.key, PRESENCE, withComponent(component, sets.get(plain)?.some ?? none(), column)];
  }
}
