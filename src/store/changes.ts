import { assertWholeNumber } from '../fhir/whole-number.js';
import type { Change } from './write.js';

/** A question for the changes of a project. */
export interface ChangesQuery {
  readonly project: string;
  /** The position of a page or of a change. Default: none; the page is then empty and has the current position. */
  readonly after?: string | undefined;
  /** Only changes of resources of these types. Default: of all. */
  readonly types?: readonly string[] | undefined;
  /** The page ends with the commit that reaches so many changes, of any type. From 1 up. Default 1000. */
  readonly limit?: number | undefined;
}

/** What was committed to a project after a position. */
export interface ChangePage {
  /**
   * In the order of their commits, all changes of a commit together, and the versions of a resource in their order. A change
   * whose version was purged or erased since is left out; the erasure itself is not.
   */
  readonly changes: readonly CommittedChange[];
  /** Where the next page begins. It equals `after` if nothing came after it; an empty page with another has a successor. */
  readonly position: string;
  /**
   * True if the store never gave the position for this project, no longer has all changes after it, or was put back to a
   * state before it. There are no changes then: read again, and continue after `position`.
   */
  readonly isReset: boolean;
}

/** One write of a commit. Both versions can be read while they exist: see `ResourceKey.version`. */
export interface CommittedChange extends Change {
  /** The version that this one replaced, a deletion included; null for the first. */
  readonly before: string | null;
  /** The position after the commit: all its changes have the same. Opaque, at most 100 characters. */
  readonly position: string;
}

/** A validated {@link ChangesQuery}. */
export interface ChangesWindow {
  readonly after: string | undefined;
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly limit: number;
}

/** Validates a question for changes. Any position passes. @throws FhirError `invalid` - the limit is not a whole number from 1 up */
export function changesWindowOf({ after, types, limit = 1000 }: ChangesQuery): ChangesWindow {
  assertWholeNumber('limit', limit, 1);
  return { after: after === undefined ? undefined : String(after), types: types && new Set(types), limit };
}

/**
 * Validates a store's option `changeRetention`: how long `changes` goes back, in milliseconds.
 *
 * @throws FhirError `invalid` - not a whole number from 1 up
 */
export function changeRetention(milliseconds: number = 7 * 24 * 60 * 60 * 1000): number {
  assertWholeNumber('changeRetention', milliseconds, 1);
  return milliseconds;
}
