import type { SqlValue } from '../../sql/sql.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import type { ValueGroups } from '../../sql/skip/value-groups.js';

/**
 * The table `fhirgraph_skip`: the resources of frequent values, and those of each granule of an order.
 *
 * A search intersects the resources of its conditions, then reads the order granule by granule for the remaining ones.
 * So it skips resources that cannot match, however the order and the conditions are correlated.
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
 * comp.   6           'v' code  the order of the groups with this frequent code of a composite, by the values of the
 *                               component: see GroupsOrder and sql/skip/value-groups.ts
 * comp.   16, 17 …    '0' …     their granules: a resource is in those of all of its groups
 * param.  2           'o'       the references of a parameter: see ReferencesHead
 * param.  2           'k00000' …  the keys of their targets, in order
 * param.  2           '0' …     the references themselves: see references.ts. A target is its place among the keys
 * ```
 *
 * Orders and subjects are the keys of parameters, or {@link IDS} and {@link INSTANTS}. References are ordered by their
 * texts, which no other index does: see reference-order.ts.
 *
 * Layers describe the resources written since. Their resources have numbers after those of older layers, again in the
 * order of their keys. Their rows have the same names after the mark of the layer, and exist only if the oldest layer
 * has them:
 *
 * ```text
 * 0       ids         '+7 d'    the older numbers of resources that were written or deleted since
 * 0       parameter   '+7 v' code …  resources of the layer
 * order   0           '+7 o'    their places in the order: see LayerOrder
 * param.  2           '+7 0' …  their references
 * comp.   6           '+7 v' code  an order of their groups with the code: see LayerGroups. No row: they have none
 * ```
 */
export interface SkipHeader {
  /** Raised when the meaning of the rows changes. */
  readonly format: number;
  /** Identifies these rows: rows under another header may differ. */
  readonly id: string;
  /** The entry `index_epoch` of `fhirgraph_meta`: rows of another epoch are void. */
  readonly epoch: string;
  /** Number of resources of the oldest layer. */
  readonly size: number;
  /** The name of the project; the table has only its key. */
  readonly project: string;
  /** The layers above the oldest one. */
  readonly layers: readonly SkipLayer[];
}

/** The resources with numbers from `first` up. */
export interface SkipLayer {
  /** The prefix of the names of its rows: '', or '+7 ' with a random UUID instead of the 7. No other layer ever has it. */
  readonly mark: string;
  /** A multiple of {@link KEYS_IN_ROW}. */
  readonly first: number;
  readonly size: number;
}

export const FORMAT = 13;

/** The systems of a code or of a parameter, if they are few: keys as the database writes them, in order. */
export interface SystemsOf {
  /** The systems in which every resource with the code (or with a value) has it. */
  readonly same: readonly string[];
  /** The systems with a set of their own. */
  readonly own: readonly string[];
  /** Set for a layer with too many systems to keep. */
  readonly areMany?: true;
}

/** The granules of an order. */
export interface SkipOrder {
  /** The first value of each granule except the last, which has the resources without a value. */
  readonly starts: readonly SqlValue[];
  /** Granules of one value that many resources have. */
  readonly ties: readonly number[];
  /** True if some resources have several values, so that the descending order has granules of its own. */
  readonly several: boolean;
}

/** The order of the groups with a code. */
export interface GroupsOrder extends SkipOrder {
  readonly groups: ValueGroups;
  /** The `subject` of the rows of its granules. */
  readonly subject: number;
}

/** The groups with a code that resources of a layer have. */
export interface LayerGroups extends Pick<SkipOrder, 'starts' | 'ties'> {
  /** Undefined if some values are intervals or long codes, which no order can have. */
  readonly groups?: ValueGroups;
  /** The numbers in each granule: see granule-lists.ts. */
  readonly lists: string;
}

/** The places of a layer's resources in an order. */
export interface LayerOrder {
  /** True if some resources of this or older layers have several values. */
  readonly several: boolean;
  /** The granules that are new in the order of the older layers, from the first one to the last. */
  readonly cuts: readonly OrderCut[];
  /** The numbers that the layer adds to the granules: see granule-lists.ts. */
  readonly lists: string;
}

/** New granules after an older one, or in its place. */
export interface OrderCut {
  /** The older granule; -1: before all. */
  readonly at: number;
  /** True if they replace it, and the layer has all of their resources. */
  readonly replaces: boolean;
  readonly starts: readonly SqlValue[];
  /** The new granules with only one value. */
  readonly ties: readonly number[];
}

/** The sizes of a parameter's references. */
export interface ReferencesHead {
  /** Number of targets. */
  readonly targets: number;
}

/** Used like keys of parameters: for the order of ids, and of `_lastUpdated`. */
export const IDS = 1;
export const INSTANTS = 2;

export const SETS = 0;
export const HEADER = '';
/** The row of the older numbers that a layer replaces. */
export const REPLACED = 'd';
export const PRESENCE = 'p';
export const SEVERAL = 's';
export const ORDER = 'o';
export const BY_SMALLEST = 0;
export const BY_LARGEST = 1;
export const TARGETS = 2;
export const BY_END = 3;
export const GROUPS = 6;
/** The `subject` of the granules of a composite's first frequent code. */
export const FIRST_GROUPS = 16;

/** The name of the row of a code, of the uuid of a target, or of a unit. */
export function valueName(value: string): string {
  return `v${value}`;
}

/** The name of the row of the resources with a code, or with any value. */
export function wholeName(code: string | undefined): string {
  return code === undefined ? PRESENCE : valueName(code);
}

/** The name of the row of the systems of a code, or of a parameter. */
export function systemsName(code: string | undefined): string {
  return code === undefined ? 'j' : `i${code}`;
}

/** The name of the row of a system's values. @param system its key, as the database writes it */
export function inSystemName(system: string, code = ''): string {
  return `w${system}${code}`;
}

/** Granules per row of the table: finding a row takes as long as reading several granules. */
export const GRANULES_IN_ROW = 32;

/** Keys per row of `fhirgraph_skip_key`, a power of two. A row has the keys of the numbers from `first` up. */
export const KEYS_IN_ROW = 64;

/** Keys per row of the table. */
export const KEYS_TOGETHER = 16_384;

/** The names of the rows with keys. @param size number of keys */
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
  /** Resources per granule. */
  granule: 512,
  /** Types with fewer granules have no skip index. Small types have one: very many resources may refer to them. */
  minGranules: 1,
  /** Codes and targets with fewer resources have no set; they are looked up. */
  minHolders: 512,
  /** Codes of composites with fewer groups have no order of them. */
  minGroups: 4_096,
  /** Maximum keys whose numbers the server looks up, 10 µs each. */
  maxNumbered: 256,
  /** Rows of a scan that are read for a set: some milliseconds. */
  maxScanned: 20_000,
  /** With more resources that have several values, a range with two ends is scanned. */
  manySeveral: 2_048,
  /** Maximum rows of such a scan for a count: some tens of milliseconds. */
  maxCounted: 100_000,
  /** Maximum granules whose values the server tests for one condition: half a microsecond per resource. */
  maxTested: 8,
  /** A layer absorbs the one below while that has fewer than this many times as many resources. */
  layerGrowth: 4,
  /** With more resources in layers, as a share of the oldest one, the whole index is rebuilt. */
  maxLayered: 0.25,
  /** With more writes since it was built, a skip index is not used. */
  maxPending: 4_000,
  /** With more writes since, they become a layer soon, if possible before searches stop using the index. */
  urgent: 1_000,
  /** With more writes since, they become a layer: each write costs a search about 10 µs. */
  maxFresh: 400,
  /** With more writes since, an older version of the library rebuilds a newer index, as the newer version is gone. */
  abandoned: 40_000,
  /** After this many writes to a type, a store builds its skip index before it closes. Others wait for a search. */
  minLoad: 20_000,
  /** How long a closing store waits for its builds, in milliseconds: long enough for 20,000 resources. */
  lastWait: 3_000,
};
