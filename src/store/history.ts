import type { Deletion, StoredResource } from './stored-resource.js';
import type { ShortPage } from './text-budget.js';

/** The versions of a resource that a page is asked for, newest first. */
export interface VersionRange {
  /** Number of versions to skip. */
  readonly offset: number;
  readonly limit: number;
  /** Given if the page may end early, where its texts exceed half of the budget of the call. Default: it may not. */
  readonly shortens?: ShortPage | undefined;
}

/** A page of the history of a resource. */
export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  readonly total: number;
}

/** A version of a resource: its content, or a deletion. */
export type HistoryEntry = ({ readonly kind: 'put' } & StoredResource) | ({ readonly kind: 'delete' } & Deletion);

/** A page of the history of a type in one project. */
export interface TypeHistoryQuery {
  readonly project: string;
  readonly type: string;
  /** Only versions of these resources; a call names at most 1000. Default: of all. */
  readonly ids?: readonly string[] | undefined;
  /** Only versions written at this instant or later. ISO 8601 instant, UTC. Default: all. */
  readonly since?: string | undefined;
  /** Only versions that are not current: those that were replaced, and deletions. Default false. */
  readonly past?: boolean | undefined;
  /** The page begins right after this version. Default: with the newest. */
  readonly after?: VersionPosition | undefined;
  /** Maximum page size. */
  readonly limit: number;
  /** Given if the page may end early, where its texts exceed half of the budget of the call. Default: it may not. */
  readonly shortens?: ShortPage | undefined;
}

/**
 * The place of a version in the history of its type. If that version does not exist, the place is somewhere among the
 * versions of the same instant.
 */
export interface VersionPosition {
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  readonly id: string;
  readonly versionId: string;
}

/** A version in the history of a type. */
export type TypeHistoryEntry =
  | ({
      readonly kind: 'put';
      readonly id: string;
      /** True when there was no current version before; false if that version was purged. */
      readonly created: boolean;
    } & StoredResource)
  | ({ readonly kind: 'delete'; readonly id: string } & Deletion);
