import type { SqlValue } from '../../sql/sql.js';
import type { Statements } from '../statements.js';
import { emptySet, type GranuleSet } from './granules.js';

/**
 * A row of the table `skip`: what the granules of an order hold of one subject.
 *
 * A granule is about a thousand neighbours in the order of a sort key; the last one has the resources without a value. A
 * walk in that order leaves out the granules that cannot have a match, however the order and the conditions depend on each
 * other.
 *
 * ```text
 * subject      value     data
 * 0            0         the order itself: see SkipOrder
 * parameter    0         which granules have resources with values, and which without
 * parameter    code      which have resources with this frequent code, and which without
 * parameter    target    likewise with a reference to this resource
 * parameter    ''        of a date or number: the smallest and largest low and the largest high of each granule
 * ```
 *
 * Orders and subjects are the numbers of parameters, or those of zones.ts for the ids and instants of change.
 */
export interface SkipRow {
  readonly order: number;
  readonly subject: number;
  readonly value: string | number;
  readonly data: string;
}

export const PRESENCE = 0;
export const RANGES = '';

/** An order, and the moment of which its rows tell. */
export interface SkipOrder {
  /** The entry `index_epoch` of `meta`: rows of another one are void. */
  readonly epoch: string | null;
  /** The key of the newest version that is included. */
  readonly lastVersion: number;
  /** The sort key. */
  readonly parameter: string;
  /** The first value of each granule but the last, which is of resources without a value. */
  readonly starts: readonly SqlValue[];
}

/** Which granules have a resource with something, and which have one without it. */
export interface Holding {
  readonly some: GranuleSet;
  readonly lacking: GranuleSet;
}

/** Per granule the smallest low, the largest low and the largest high; of granules without values null. */
export type Ranges = readonly [
  low: readonly (number | null)[],
  last: readonly (number | null)[],
  high: readonly (number | null)[],
];

export function holdingText({ some, lacking }: Holding): string {
  return Buffer.concat([some, lacking]).toString('base64');
}

/** @param count number of granules of the order */
export function readHolding(text: string, count: number): Holding {
  const bytes = Buffer.from(text, 'base64');
  const size = emptySet(count).length;
  return { some: bytes.subarray(0, size), lacking: bytes.subarray(size, 2 * size) };
}

/** How large the parts of a skip index are. */
export interface SkipSizes {
  /** Resources of a granule. */
  readonly granule: number;
  /** Orders with fewer granules are walked as they are. */
  readonly minGranules: number;
  /** Codes and targets of fewer resources are collected instead. */
  readonly minHolders: number;
  /** Resources times orders that are described in one pass over the indexes: four bytes each. */
  readonly maxPlaces: number;
}

/** Only tests change it. */
export const SKIP_TUNING = {
  granule: 1_024,
  minGranules: 16,
  minHolders: 4_096,
  maxPlaces: 32_000_000,
  /** With more writes since, a skip index is not used. */
  maxPending: 10_000,
  /** With more writes since, it is made again. */
  maxFresh: 2_000,
  /** After so many writes a store makes skip indexes before it closes. */
  minLoad: 20_000,
};

/** Removes the skip indexes of a type of a project: they hold values of its resources. */
export function removeSkipRows(statements: Statements, collection: number): void {
  statements.write('DELETE FROM skip WHERE collection = ?').run(collection);
}
