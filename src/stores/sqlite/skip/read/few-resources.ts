import { isInTime } from '../../database/guard.js';
import type { KeyTest } from '../../../sql/skip/references.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { sql } from '../../../sql/sql.js';
import { countOfCollection } from '../../rows/shapes.js';
import type { Statements } from '../../database/statements.js';
import { SKIP_TUNING } from '../../rows/skip-row.js';

/** The keys of all resources of a type that is too small for a skip index; undefined for larger and empty types. */
export function fewResources(collection: number, statements: Statements): readonly number[] | undefined {
  const [count] = statements.get(countOfCollection(collection)) as [number];
  if (count === 0 || count >= SKIP_TUNING.granule * SKIP_TUNING.minGranules) return undefined;
  const keys = statements.column(sql`SELECT y.key FROM resource y INDEXED BY resource_by_updated
    WHERE y.collection = ${collection} AND y.content IS NOT NULL`) as readonly number[];
  const { first, size } = rangeOfKeys(keys);
  return size > SKIP_TUNING.maxSpread || first === Infinity ? undefined : keys;
}

export function rangeOfKeys(keys: readonly number[]): { readonly first: number; readonly size: number } {
  let [first, last] = [Infinity, 0];
  for (const key of keys) [first, last] = [Math.min(first, key), Math.max(last, key)];
  return { first, size: last - first + 1 };
}

/** The references of a parameter of a small type, read from their index. */
export function referencesOfFew(parameter: number, statements: Statements): SkipReferences {
  const pairs = (add: (source: number, target: number) => void): void => {
    const rows = statements.all(sql`SELECT x.resource, x.target FROM reference x INDEXED BY reference_by_value
      WHERE x.parameter = ${parameter} AND x.grp = 0 AND ${isInTime(sql`x.resource`)}`);
    for (const [source, target] of rows) add(source as number, target as number);
  };
  return {
    addTargets: (sources, into) => {
      pairs((source, target) => {
        if (sources.has(source)) into.add(target);
      });
    },
    addSources: (targets, into) => {
      pairs((source, target) => {
        if (targets.has(target)) into.add(source);
      });
    },
  };
}

/** The references of a parameter. */
export interface SkipReferences {
  /** Adds the targets of some resources of the type. */
  addTargets(sources: KeySet, into: KeySet): void;
  /** Adds the resources of the type that refer to some targets. */
  addSources(targets: KeyTest, into: KeySet): void;
}
