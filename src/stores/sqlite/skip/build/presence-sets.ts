import { getOrCreate } from '../../../../platform/maps.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql, type SqlValue } from '../../../sql/sql.js';

/** Resources by how many values of a parameter they have. */
export interface Presence {
  readonly some: KeySet;
  readonly several: KeySet;
}

/**
 * Finds the resources with a value of each parameter. Those of one shape have values of the same parameters: see shapes.ts.
 *
 * @param shapes the numbers and parameters of the shapes of a type
 * @param all the resources of the type
 */
export function presenceSets(
  shapes: readonly (readonly [shape: number, parameters: string])[],
  column: (query: Sql) => readonly SqlValue[],
  all: KeySet,
): ReadonlyMap<number, Presence> {
  const sets = new Map<number, Presence>();
  const none = (): KeySet => new KeySet(all.first, all.size);
  for (const [shape, parameters] of shapes) {
    const keys = column(
      sql`SELECT y.key FROM resource y INDEXED BY resource_by_shape WHERE y.shape = ${shape}`,
    ) as readonly number[];
    for (const signed of JSON.parse(parameters) as number[]) {
      const { some, several } = getOrCreate(sets, Math.abs(signed), () => ({ some: none(), several: none() }));
      for (const key of keys) some.add(key);
      if (signed < 0) for (const key of keys) several.add(key);
    }
  }
  return sets;
}
