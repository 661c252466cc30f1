import type { SqlValue } from '../../sql/sql.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';

/**
 * The table `fhirgraph_skip`: what the parts of an order hold, so that a walk leaves out parts without a match, however the
 * order and the conditions depend on each other.
 *
 * A part is a few hundred neighbors in the order of a sort key; the last one has the resources without a value.
 *
 * ```text
 * subject      value     data
 * 0            ''        the order itself: see SkipOrder
 * parameter    ''        which parts have resources with values: see HOLDING
 * parameter    code      which have resources with this frequent code
 * parameter    target    likewise with a reference to this resource
 * parameter    '#'       of a date or number: see Ranges
 * ```
 *
 * Orders and subjects are the keys of parameters, or {@link IDS} and {@link INSTANTS}.
 */
export interface SkipOrder {
  /** The entry `index_epoch` of `fhirgraph_meta`: rows of another one are void. */
  readonly epoch: string;
  /** The sort key. */
  readonly parameter: string;
  /** The first value of each part but the last, which is of resources without a value. None: too few values. */
  readonly starts: readonly SqlValue[];
  /** Parts of a value that many resources have. */
  readonly large: readonly number[];
}

/** In the place of a parameter's key: the ids, and the instants of change. */
export const IDS = 1;
export const INSTANTS = 2;

/** `value` of the order and of presence, and of ranges: codes are never empty, and targets are uuids. */
export const WHOLE = '';
export const RANGES = '#';

/** A character per part: none of its resources has it, some, or all. */
export const HOLDING = { none: '0', some: '1', all: '2' } as const;

/** Per part the smallest low, the largest low and the largest high; of parts without values null. */
export interface Ranges {
  readonly low: readonly (number | null)[];
  readonly last: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** The number of an order or a subject. */
export function subjectOf(parameter: string, scope: RowScope): number | undefined {
  if (parameter === '_id') return IDS;
  if (parameter === '_lastUpdated') return INSTANTS;
  return parameterKey(scope, parameter) as number | undefined;
}

/** Only tests change it. */
export const SKIP_TUNING = {
  /** Resources of a part. */
  part: 256,
  /** Types with fewer parts have no skip index. */
  minParts: 32,
  /** Codes and targets of fewer resources are collected instead. */
  minHolders: 1_024,
  /** With more writes since, a skip index is not used. */
  maxPending: 4_000,
  /** With more writes since, it is made again. */
  maxFresh: 2_000,
  /** After so many writes of a type a store makes its skip index before it closes. Fewer rows are walked until a search asks. */
  minLoad: 20_000,
};
