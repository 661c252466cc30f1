import type { SqlValue } from '../../sql/sql.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';

/**
 * The table `fhirgraph_skip`: the resources of frequent values, and those of each granule of an order.
 *
 * A search intersects the resources of its conditions, then reads the order granule by granule for the ones that are left. So
 * it skips what cannot match, however the order and the conditions depend on each other.
 *
 * Resources of a type have numbers from 0 up, in the order of their keys: see {@link KEYS_IN_ROW}. Data are lists and sets of
 * numbers in the form of key-bytes.ts, in Base64.
 *
 * ```text
 * sort    subject     value     data
 * 0       ids         ''        the moment: see SkipHeader
 * 0       ids         'k00000' …  the keys, in order: see sorted-keys.ts
 * 0       parameter   'p'       the resources with a value; also of some components: see narrow-components.ts
 * 0       parameter   's'       the resources with several values; of codes: with several codes
 * 0       parameter   'v' code  the resources with this frequent code
 * 0       parameter   'i' code  the systems of this frequent code: see SystemsOf
 * 0       parameter   'j'       the systems of all values
 * 0       parameter   'w' uuid code   the resources with this frequent code of this system
 * 0       parameter   'w' uuid  the resources with a value of this system
 * 0       parameter   'v' uuid  the resources with a reference to this one
 * 0       parameter   'v' unit  the resources with a quantity in this unit, in another one, or in several: see
 *                               sql/skip/unit-sets.ts
 * order   0           'o'       the order: see SkipOrder
 * order   0           '0' …     its granules, some in a row: about five hundred neighbors each; the last granule has the
 *                               resources without a value
 * order   1           …         the same by the largest value of each resource, where some have several
 * order   3           …         those with long intervals by the end of their last one, where they are many
 * param.  2           'o'       the references of a parameter: see ReferencesHead
 * param.  2           'k00000' …  the keys of their targets, in order
 * param.  2           '0' …     the references themselves: see references.ts. A target is its place among the keys
 * ```
 *
 * Orders and subjects are the keys of parameters, or {@link IDS} and {@link INSTANTS}. References are in the order of their
 * texts, which nothing else has: see reference-order.ts.
 *
 * Layers describe what was written since. Their resources have numbers after those of older layers, again in the order of
 * their keys. Their rows have the same names behind the mark of the layer, and only where the oldest layer has them:
 *
 * ```text
 * 0       ids         '+7 d'    the older numbers of resources that were written or deleted since
 * 0       parameter   '+7 v' code …  resources of the layer
 * order   0           '+7 o'    their places in the order: see LayerOrder
 * param.  2           '+7 0' …  their references
 * ```
 */
export interface SkipHeader {
  /** Raised when the meaning of the rows changes. */
  readonly format: number;
  /** Identifies these rows: rows under another header may differ. */
  readonly id: string;
  /** The entry `index_epoch` of `fhirgraph_meta`: rows of another one are void. */
  readonly epoch: string;
  /** Number of resources of the oldest layer. */
  readonly size: number;
  /** The name of the project; the table has only its key. */
  readonly project: string;
  /** The layers above the oldest one. */
  readonly layers: readonly SkipLayer[];
  /** The number of the next layer: none comes twice. */
  readonly next: number;
}

/** The resources from one number up. */
export interface SkipLayer {
  /** The names of its rows begin with it: '' or '+7 '. */
  readonly mark: string;
  /** A multiple of {@link KEYS_IN_ROW}. */
  readonly first: number;
  readonly size: number;
}

export const FORMAT = 10;

/** The systems of a code or of a parameter, if they are few: keys as the database writes them, in order. */
export interface SystemsOf {
  /** All resources with the code, or with a value, have it with this system. */
  readonly same: readonly string[];
  /** Those with a set of their own. */
  readonly own: readonly string[];
  /** Of a layer: there are too many to be kept. */
  readonly areMany?: true;
}

/** The granules of an order. */
export interface SkipOrder {
  /** The first value of each granule but the last, which is of resources without a value. */
  readonly starts: readonly SqlValue[];
  /** Granules of one value that many resources have. */
  readonly ties: readonly number[];
  /** Some resources have several values: the descending order has granules of its own. */
  readonly several: boolean;
}

/** The places of a layer's resources in an order. */
export interface LayerOrder {
  /** Some resources of this or older layers have several values. */
  readonly several: boolean;
  /** The granules that are new in the order of the older layers, from the first one to the last. */
  readonly cuts: readonly OrderCut[];
  /** The numbers that the layer adds to the granules: see granule-lists.ts. */
  readonly lists: string;
}

/** New granules behind an older one, or in its place. */
export interface OrderCut {
  /** The older one; -1: before all. */
  readonly at: number;
  /** They take its place, and the layer has all of their resources. */
  readonly replaces: boolean;
  readonly starts: readonly SqlValue[];
  /** Those of the new ones that have only one value. */
  readonly ties: readonly number[];
}

/** The sizes of a parameter's references. */
export interface ReferencesHead {
  /** Number of targets. */
  readonly targets: number;
}

/** Used like keys of parameters: the ids, and the instants of change. */
export const IDS = 1;
export const INSTANTS = 2;

export const SETS = 0;
export const HEADER = '';
/** The row of the older numbers that a layer takes the place of. */
export const REPLACED = 'd';
export const PRESENCE = 'p';
export const SEVERAL = 's';
export const ORDER = 'o';
export const BY_SMALLEST = 0;
export const BY_LARGEST = 1;
export const TARGETS = 2;
export const BY_END = 3;

/** The row of a code, of the uuid of a target, or of a unit. */
export function valueName(value: string): string {
  return `v${value}`;
}

/** The row of the resources with a code, or with any value. */
export function wholeName(code: string | undefined): string {
  return code === undefined ? PRESENCE : valueName(code);
}

/** The row of the systems of a code, or of a parameter. */
export function systemsName(code: string | undefined): string {
  return code === undefined ? 'j' : `i${code}`;
}

/** The row of a system's values. @param system its key, as the database writes it */
export function inSystemName(system: string, code = ''): string {
  return `w${system}${code}`;
}

/** Granules per row of the table: finding a row takes as long as reading several granules. */
export const GRANULES_IN_ROW = 32;

/** Keys in a row of `fhirgraph_skip_key`, a power of two: it has those of the numbers from `first` up. */
export const KEYS_IN_ROW = 64;

/** Keys per row of the table. */
export const KEYS_TOGETHER = 16_384;

/** The rows that have keys. @param size number of keys */
export function keyNames(size: number): readonly string[] {
  return Array.from({ length: Math.ceil(size / KEYS_TOGETHER) }, (_, row) => `k${String(row).padStart(5, '0')}`);
}

/** The number of a subject. */
export function subjectOf(parameter: string, scope: RowScope): number | undefined {
  if (parameter === '_id') return IDS;
  if (parameter === '_lastUpdated') return INSTANTS;
  return parameterKey(scope, parameter) as number | undefined;
}

/** Only tests change it. */
export const SKIP_TUNING = {
  /** Resources of a granule. */
  granule: 512,
  /** Types of fewer granules have no skip index. Small types have one too: very many resources may refer to few. */
  minGranules: 1,
  /** Codes and targets of fewer resources are looked up. */
  minHolders: 512,
  /** The most keys whose numbers the server looks up, a hundredth of a millisecond each. */
  maxNumbered: 256,
  /** Rows of a scan that are read for a set: some milliseconds. */
  maxScanned: 20_000,
  /** With more resources that have several values, a range with two ends is scanned. */
  manySeveral: 2_048,
  /** The most rows of such a scan for a count: some tens of milliseconds. */
  maxCounted: 100_000,
  /** The most granules whose values the server tests for one condition: half a microsecond each resource. */
  maxTested: 8,
  /** A layer takes in the one below while that has fewer than so many times as many resources. */
  layerGrowth: 4,
  /** With more resources in layers, as a share of the oldest one, all is rebuilt. */
  maxLayered: 0.25,
  /** With more writes since, a skip index is not used. */
  maxPending: 4_000,
  /** With more writes since, they become a layer soon: before searches stop using the index, if possible. */
  urgent: 1_000,
  /** With more writes since, they become a layer: each write costs a search about ten microseconds. */
  maxFresh: 400,
  /** With more writes since, a skip index of a newer version is rebuilt by an older one: the newer one is gone. */
  abandoned: 40_000,
  /** After so many writes to a type, a store builds its skip index before it closes. Smaller types wait for a search. */
  minLoad: 20_000,
  /** Milliseconds for which a store that closes waits for what it builds: long enough for 20,000 resources. */
  lastWait: 3_000,
};
