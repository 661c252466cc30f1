import type { Sql } from './sql.js';

/**
 * Where and how a test looks at index values.
 *
 * Both forms mean the same. `condition` is the shorter one, for the few rows of a resource at hand. Each of `scans` is one
 * range of the index by value (their rows may overlap); left out where only a look at every value of the parameter helps.
 */
export interface Lookup {
  readonly table: IndexTable;
  readonly condition: Sql;
  readonly scans?: readonly Sql[];
  /** No row is in two of the scans. */
  readonly disjoint?: boolean;
}

export type IndexTable = 'token' | 'string' | 'date' | 'quantity' | 'reference' | 'uri' | 'display';
