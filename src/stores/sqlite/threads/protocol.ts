import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { Expectation, Write } from '../../../store/write.js';
import type { OpenedFile } from '../database/database-file.js';
import type { PackedEntries } from './packed-entries.js';
import type { WorkName } from './work.js';

/** The data that a thread is started with. */
export interface ThreadData {
  /** Where the driver is loaded from: see `driverBase`. */
  readonly base: string;
  readonly file: string;
  /** The file that the store has open. */
  readonly opened: OpenedFile | undefined;
  readonly definitions: FhirModel['definitions'];
  /** True if extraction needs the FHIRPath library. */
  readonly needsFhirPath: boolean;
  /** The synchronous mode of a thread that writes; undefined for a reader. */
  readonly writes: 'full' | 'normal' | 'off' | undefined;
  readonly busyTimeout: number;
  /** See `CallState`. */
  readonly calls: SharedArrayBuffer;
}

/** A call of a thread. */
export type ThreadCall =
  | { readonly kind: WorkName; readonly args: readonly unknown[] }
  /** Writes are sent before, in parts, with the same `now`: milliseconds since 1970. */
  | { readonly kind: 'commit'; readonly now: number }
  /** Sent in place of a call that ended before it was sent. */
  | { readonly kind: 'nothing' };

/** Writes of a commit, in order. */
export interface WritePart {
  /** The instant of the commit, in milliseconds since 1970. */
  readonly now: number;
  /** True if the commit is a load: its first part may hold few of its writes. */
  readonly load: boolean;
  readonly writes: readonly SentWrite[];
  /** The index entries of the puts. */
  readonly entries: PackedEntries;
}

/** A list is copied faster than an object. A put has its resource as JSON text: see `PreparedPut`. */
export type SentWrite = SentPut | Exclude<Write, { readonly kind: 'put' }>;

export type SentPut = readonly [
  project: string,
  type: string,
  id: string,
  text: string,
  expect: Expectation | undefined,
  unique: readonly string[] | undefined,
];

/**
 * The result of a write: `[created, versionId, lastUpdated]` of a put, null if it made the first version at the instant
 * of the commit; `[versionId]` of a deletion, `[versionId, versions]` of an erasure, otherwise nothing.
 */
export type WrittenRow =
  | null
  | readonly [created: boolean, versionId: string, lastUpdated: string]
  | readonly [versionId: string | null]
  | readonly [versionId: string | null, versions: number]
  | readonly [];

/** A message to the thread. */
export type Request =
  /** Parts come before their call, which ends the commit; another call abandons it. */
  (CallHeader & { readonly part: WritePart }) | (CallHeader & { readonly call: ThreadCall }) | 'end';

interface CallHeader {
  readonly id: number;
  /** Milliseconds until the deadline of the call; undefined: no deadline. */
  readonly left: number | undefined;
}

/** A message from the thread. */
export type Answer =
  'ready' | { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: SentError };

/** A `FhirError` as plain data. */
export interface SentError {
  readonly code: string;
  readonly message: string;
  readonly issues: readonly unknown[];
  readonly details: { readonly [name: string]: unknown } | undefined;
  readonly cause: { readonly code: string | undefined; readonly message: string };
}
