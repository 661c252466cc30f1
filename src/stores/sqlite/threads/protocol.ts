import type { DefinitionTexts } from '../../../fhir/model/definition-texts.js';
import type {
  EraseWrite,
  Expectation,
  PurgeRequest,
  PurgeStep,
  ReferenceTarget,
  ResourceKey,
  SearchQuery,
} from '../../../store/store.js';
import type { ReindexProgress } from '../../sql/reindex.js';
import type { RemovedPart } from '../removal.js';
import type { KeyPage } from '../search.js';
import type { BuiltSkipIndexes } from '../skip/skip-indexes.js';
import type { SkipSizes } from '../skip/skip-row.js';
import type { Verification } from '../verify.js';

/** What a thread is started with. */
export interface ThreadData {
  /** From where the driver is loaded: see `driverBase`. */
  readonly base: string;
  readonly file: string;
  readonly definitions: { readonly texts: DefinitionTexts; readonly fingerprint: string };
  /** Extraction needs the FHIRPath library. */
  readonly needsFhirPath: boolean;
  /** The synchronous mode of a thread that writes; undefined for a reader. */
  readonly writes: 'full' | 'normal' | 'off' | undefined;
  readonly busyTimeout: number;
  /** One integer: the number of the call that is cancelled. */
  readonly cancelled: SharedArrayBuffer;
}

/** The calls that a thread answers, with their results. Resources stay in the database: pages are keys of versions. */
export interface ThreadCalls {
  readonly search: { readonly input: { readonly query: SearchQuery }; readonly result: KeyPage };
  readonly 'search-by-reference': {
    readonly input: {
      readonly query: SearchQuery;
      readonly parameter: string;
      readonly targets: readonly ReferenceTarget[];
    };
    readonly result: readonly KeyPage[];
  };
  readonly verify: { readonly input: object; readonly result: Verification };
  /** Writes are sent before, in parts. `now`: milliseconds since 1970. */
  readonly commit: { readonly input: { readonly now: number }; readonly result: readonly WrittenRow[] };
  /** See `ValueIndexes`. */
  readonly 'create-indexes': { readonly input: object; readonly result: null };
  readonly 'build-skip-indexes': {
    readonly input: { readonly collection: number; readonly sizes: SkipSizes };
    readonly result: BuiltSkipIndexes;
  };
  readonly 'write-skip-indexes': { readonly input: { readonly built: BuiltSkipIndexes }; readonly result: null };
  readonly reindex: { readonly input: object; readonly result: readonly ReindexProgress[] };
  /** In place of a call that ended before it was sent. */
  readonly nothing: { readonly input: object; readonly result: null };
  readonly 'purge-history': { readonly input: { readonly request: PurgeRequest }; readonly result: PurgeStep };
  readonly 'remove-project': { readonly input: { readonly project: string }; readonly result: RemovedPart };
  readonly scrub: { readonly input: object; readonly result: null };
  readonly checkpoint: { readonly input: object; readonly result: null };
}

export type CallKind = keyof ThreadCalls;

export type ThreadCall = {
  [Kind in CallKind]: { readonly kind: Kind } & ThreadCalls[Kind]['input'];
}[CallKind];

export type ResultOf<Call extends ThreadCall> = ThreadCalls[Call['kind']]['result'];

/** A write with its resource as JSON text. */
export type TextWrite =
  | {
      readonly kind: 'put';
      readonly key: ResourceKey;
      readonly text: string;
      readonly expect: Expectation | undefined;
      readonly unique: readonly string[] | undefined;
    }
  | { readonly kind: 'delete'; readonly key: ResourceKey; readonly expect: Expectation | undefined }
  | EraseWrite
  | { readonly kind: 'assert-no-match'; readonly query: SearchQuery };

/**
 * What became of a write: `[created, versionId, lastUpdated]` of a put, `[versionId]` of a deletion, `[versionId, versions]`
 * of an erasure, else nothing.
 */
export type WrittenRow =
  | readonly [created: boolean, versionId: string, lastUpdated: string]
  | readonly [versionId: string | null]
  | readonly [versionId: string | null, versions: number]
  | readonly [];

/** To the thread. */
export type Request =
  | { readonly part: readonly TextWrite[] }
  | {
      readonly id: number;
      readonly call: ThreadCall;
      /** Milliseconds until its deadline; undefined: none. */
      readonly left: number | undefined;
    }
  | 'end';

/** From the thread. */
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
