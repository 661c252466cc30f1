import type { SqlValue } from '../../sql/sql.js';
import type { ValueGroups } from '../../sql/skip/value-groups.js';
import type { Statements } from '../database/statements.js';

/**
 * A row of the table `skip`, which holds resource keys: those of frequent values, and those of each granule of an order.
 *
 * A search intersects the keys of its conditions, then reads the order granule by granule for the remaining keys. So it
 * skips resources that cannot match, however the order and the conditions are correlated.
 *
 * ```text
 * sort    subject     value    data
 * 0       ids         0        the moment and the range of the keys: see SkipHeader
 * 0       ids         1        all resources
 * 0       parameter   0        the resources with a value; also of some components: see sql/skip/narrow-components.ts
 * 0       parameter   -1       the resources with several values; of codes: with several codes
 * 0       parameter   code     the resources with this frequent code
 * 0       parameter   unit     the resources with a quantity in this unit, or in several units: see sql/skip/unit-sets.ts
 * 0       parameter   target   the resources with a reference to this one
 * order   0           -1       the order: see SkipOrder
 * order   0           0, 1 …   its granules, some in a row: about five hundred neighbors each; the last granule has the
 *                              resources without a value
 * order   1           0, 1 …   the same by the largest value of each resource, where some have several
 * param.  2           0, 1 …   the references of a parameter: see references.ts
 * param.  4           code     the systems of this frequent code: see SystemsOf
 * param.  4           0        the systems of all values
 * param.  5           system   the resources with a value of this system
 * param.  5           system code   the resources with this frequent code of this system
 * comp.   6           code     the `subject` of the groups with this frequent code of a composite: see sql/skip/value-groups.ts
 * comp.   16, 17 …    -1       the order of these groups by the values of the component
 * comp.   16, 17 …    0, 1 …   their granules: a resource is in those of all of its groups
 * order   3           -1       the resources with long intervals, by the end of their last one: see long-ends.ts
 * order   3           0, 1 …   their granules
 * ```
 *
 * Orders are the numbers of parameters, or those of {@link orderOfIds} and {@link orderOfInstants}; `ids` is the number of the
 * former.
 */
export interface SkipRow {
  readonly sort: number;
  readonly subject: number;
  readonly value: string | number;
  readonly data: string | Uint8Array;
}

/** The number of the order of the ids of a type. */
export function orderOfIds(collection: number): number {
  return -2 * collection;
}

/** The number of the order of `_lastUpdated` of a type. */
export function orderOfInstants(collection: number): number {
  return -2 * collection - 1;
}

export const SETS = 0;
export const HEADER = 0;
export const EVERYTHING = 1;
export const PRESENCE = 0;
export const SEVERAL = -1;
export const ORDER = -1;
export const BY_SMALLEST = 0;
export const BY_LARGEST = 1;
export const TARGETS = 2;
export const BY_END = 3;
export const SYSTEMS = 4;
export const ALL_VALUES = 0;
export const IN_SYSTEM = 5;
export const GROUPS = 6;
/** The `subject` of the groups of the first frequent code. */
export const FIRST_GROUPS = 16;

/** The `value` of the row {@link SYSTEMS} of a code, or of all values. */
export function systemsOf(code: string | undefined): string | number {
  return code ?? ALL_VALUES;
}

/** The `value` of the row {@link IN_SYSTEM} of a system. */
export function inSystem(system: number, code: string | undefined): string | number {
  return code === undefined ? system : `${system} ${code}`;
}

/** The systems of a code, or of all values, by their keys. */
export interface SystemsOf {
  /** The systems in which every resource with the code (or with a value) has it. */
  readonly same: readonly number[];
  /** The systems with a set of their own. */
  readonly own: readonly number[];
  /** Set if there are too many systems to keep. */
  readonly areMany?: true;
}

/** The moment that the rows of a type describe, and the range of its keys. */
export interface SkipHeader {
  /** Raised when the meaning of the rows changes. */
  readonly format: number;
  /** Identifies these rows: rows under another header may differ. */
  readonly id: string;
  /** The entry `index_epoch` of `meta`: rows of another epoch are void. */
  readonly epoch: string | null;
  /** The key of the newest version that is included. */
  readonly lastVersion: number;
  /** The smallest key. */
  readonly first: number;
  /** Number of keys from `first` to the largest one. */
  readonly size: number;
  /** Number of resources. */
  readonly count: number;
  /** The number of resources when all rows were last built. */
  readonly built: number;
  /** The units that have a set, by the key of their parameter. Undefined in rows of older versions. */
  readonly units?: { readonly [parameter: string]: readonly string[] };
}

export const FORMAT = 9;

/** Granules per row of the table: finding a row takes as long as reading several granules. */
export const GRANULES_IN_ROW = 32;

/** The granules of an order. */
export interface SkipOrder {
  readonly parameter: string;
  /**
   * The first value of each granule except the last, which has the resources without a value. The first granule also has smaller
   * values that were written since the index was built, unless it is one of {@link ties}.
   */
  readonly starts: readonly SqlValue[];
  /** Granules of one value that many resources have. */
  readonly ties: readonly number[];
  /** True if some resources have several values, so that the descending order has granules of its own. */
  readonly several: boolean;
  /**
   * For an order by ends, the id of the header under which it was last updated. Under another header it is void,
   * because an earlier version of this library, which does not know the order, may have updated the other rows.
   */
  readonly of?: string;
  /** For an order of groups. */
  readonly groups?: ValueGroups;
}

/** The sizes of the parts of a skip index. */
export interface SkipSizes {
  /** Resources per granule. */
  readonly granule: number;
  /** Types with fewer granules have no skip index. */
  readonly minGranules: number;
  /** Codes and targets with fewer resources have no set; they are looked up. */
  readonly minHolders: number;
}

/** Only tests change it. */
export const SKIP_TUNING = {
  granule: 512,
  minGranules: 16,
  minHolders: 4_096,
  /** Maximum rows of a scan that are read for a set that granules of an order could also give. */
  maxLookedUp: 4_096,
  /** Maximum granules at an end of a range whose values are tested: some milliseconds. */
  maxTested: 64,
  /** Maximum resources with one value at an end of a range that are tested for a page. */
  maxTied: 8_192,
  /** With more writes since it was built, a skip index is not used. */
  maxPending: 10_000,
  /** With more writes since it was built, a skip index is updated. */
  maxFresh: 500,
  /** With more writes since it was built, a skip index is rebuilt as a whole. */
  maxUpdated: 100_000,
  /** Maximum versions that are searched for writes since the skip index was built. */
  maxVersions: 20_000,
  /** A type whose keys are spread over a wider range has no skip index: a set would take a megabyte. */
  maxSpread: 64_000_000,
  /**
   * After this many writes, a store builds skip indexes before it closes. With fewer resources, the longest walk takes
   * 20 ms, and the first long walk starts a build.
   */
  minLoad: 50_000,
};

/** Removes the skip indexes of a type of a project: they hold values of its resources. */
export function removeSkipRows(statements: Statements, collection: number): void {
  statements.write('DELETE FROM skip WHERE collection = ?').run(collection);
}
