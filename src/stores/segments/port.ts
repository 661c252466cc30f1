import type { Criteria } from '../../search/criteria/criteria.js';
import type { IndexEntry } from '../../search/index/index-entry.js';
import type { Answer } from '../ask.js';

/** A current resource with its index entries. */
export interface IndexedResource {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly lastUpdated: number;
  readonly entries: readonly IndexEntry[];
}

/** The format of the rows of segments. It is raised whenever they change. */
export const FORMAT = 2;

/** Most resources of a segment: a position takes two bytes. */
export const MAX_SIZE = 65_536;

/** The segments of a type of a project, as a store keeps them. Never changed: a store replaces it by another one. */
export interface SegmentList {
  /** {@link FORMAT} of the rows. Lists of other formats are not read. */
  readonly format: number;
  /** Random. Everything that is derived from a list is kept under it. */
  readonly id: string;
  readonly segments: readonly ListedSegment[];
  /** Undefined once all resources are in segments. Until then, the last id that is: searches ignore the list. */
  readonly builtTo?: string | undefined;
}

export interface ListedSegment {
  /** Random. A segment with this id never changes, even if the database is restored. */
  readonly id: string;
  /** Resources, dead ones included. */
  readonly size: number;
  /** The positions of resources that were written since: a set as of `setBytes`. */
  readonly dead: Uint8Array;
}

/** Whether searches can use a list: all resources are in its segments, or written since. */
export function isComplete(list: SegmentList | undefined): list is SegmentList {
  return list?.format === FORMAT && list.builtTo === undefined;
}

/** A list as it is stored: JSON, with the sets of dead positions as base64. */
export function listText({ segments, ...list }: SegmentList): string {
  return JSON.stringify({
    ...list,
    segments: segments.map((one) => ({ ...one, dead: Buffer.from(one.dead).toString('base64') })),
  });
}

/** The list of a text of {@link listText}. */
export function listOf(text: string): SegmentList {
  const list = JSON.parse(text) as SegmentList;
  const segments = list.segments as readonly (Omit<ListedSegment, 'dead'> & { readonly dead: unknown })[];
  return {
    ...list,
    segments: segments.map((one) => ({ ...one, dead: new Uint8Array(Buffer.from(one.dead as string, 'base64')) })),
  };
}

/** A resource that was written since its list was made: created, changed or deleted. */
export interface WrittenResource {
  readonly id: string;
  /** Differs for each write of the resource, also from writes that were rolled back: for example a random number. */
  readonly stamp: string | number;
}

export interface StoredState {
  /** Undefined: none was made. */
  readonly list: SegmentList | undefined;
  readonly written: readonly WrittenResource[];
}

/** A row of a segment. */
export interface RowKey {
  readonly segment: string;
  readonly name: string;
}

/** A change of the segments of a type. */
export interface SegmentChange {
  /** The id of the list that it replaces; undefined: there is none. */
  readonly expected: string | undefined;
  readonly list: SegmentList;
  /** New segments: their rows by name. */
  readonly added: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
  /** Segments to delete with their rows. */
  readonly dropped: readonly string[];
  /** Writes that the new list includes. They leave {@link StoredState.written}, unless their stamp differs by now. */
  readonly covered: readonly WrittenResource[];
}

/**
 * What a store provides for the segments of one project.
 *
 * Questions of one search are answered from one snapshot.
 */
export interface SegmentPort {
  /** The lists of types, and the writes since each was made, in the order of the types. */
  states(types: readonly string[]): Answer<readonly StoredState[]>;
  /** Rows by segment and name, in the order of these; undefined for a row that does not exist. */
  rows(keys: readonly RowKey[]): Answer<readonly (Uint8Array | undefined)[]>;
  /** The current resources among these, in any order. */
  resources(type: string, ids: readonly string[]): Answer<readonly IndexedResource[]>;
  /** The first current resources after an id, by ascending id. */
  resourcesAfter(type: string, id: string | undefined, limit: number): Answer<readonly IndexedResource[]>;
  /** The ids among these of resources that match. */
  matching(type: string, criteria: Criteria, ids: readonly string[]): Answer<readonly string[]>;
  /** Writes a change in one transaction. @returns false if the list is not the expected one; nothing is written then */
  write(type: string, change: SegmentChange): Answer<boolean>;
}
