import type { Sql } from './sql.js';

/**
 * Where and how a test looks up index values.
 *
 * Both forms are equivalent. `condition` is the shorter one, for the few rows of one resource. Each of `scans` is one
 * range of the index by value (their rows may overlap); absent if every value of the parameter must be read.
 */
export interface Lookup {
  readonly table: IndexTable;
  readonly condition: Sql;
  readonly scans?: readonly Sql[];
  /** True if the condition fixes all columns before the resource in the index by value, up to a few alternatives. */
  readonly isPoint?: boolean;
}

export type IndexTable = 'token' | 'string' | 'date' | 'quantity' | 'reference' | 'uri' | 'display';
