import type { SqlValue } from '../../sql/sql.js';
import type { PartSet } from './skip-search.js';

/** The parts of an order that can have matches. */
export interface OpenParts {
  /** The first value of each part. */
  readonly starts: readonly SqlValue[];
  /** Those of a value that many resources have. */
  readonly large: ReadonlySet<number>;
  /** By part; the last one has the resources without a value. */
  readonly open: PartSet;
}
