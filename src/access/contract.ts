import type { FhirModel } from '../fhir/model/fhir-model.js';
import type {
  CallOptions,
  DeleteWrite,
  HistoryPage,
  PutWrite,
  ReadResult,
  ReferenceTarget,
  ResourceKey,
  SearchPage,
  SearchQuery,
  NoMatchAssertion,
  WriteResult,
} from '../store/store.js';
import type { Caller } from './caller.js';

/** A key inside the caller's project. */
export type GuardedKey = Omit<ResourceKey, 'project'>;

/** A query inside the caller's project. */
export type GuardedQuery = Omit<SearchQuery, 'project'>;

/** A write inside the caller's project. */
export type GuardedWrite =
  | (Omit<PutWrite, 'key'> & {
      readonly key: GuardedKey;
      /**
       * Secrets that the resource leaves out stay as they are: for a resource that was read, and so without them, and is
       * written back. Left out, trusted code writes the resource as it is; members never see nor change secrets.
       */
      readonly keepSecrets?: true | undefined;
      /**
       * The library made the id for this very resource, so nothing can be stored under it. Every other id was chosen by
       * the caller, and only callers who read all resources of a type may create under an id that they chose.
       */
      readonly generatedId?: true | undefined;
    })
  | (Omit<DeleteWrite, 'key'> & {
      readonly key: GuardedKey;
      /** Deleting what never was is `not-found`; deleting again what was deleted still changes nothing. */
      readonly mustExist?: true | undefined;
    })
  | (Omit<NoMatchAssertion, 'query'> & { readonly query: GuardedQuery });

/** What a write came to, as the caller sees it. */
export type GuardedResult =
  | (Extract<WriteResult, { kind: 'put' }> & {
      /** The caller may not read what it wrote: `resource` repeats what the caller itself sent, and nothing else. */
      readonly unreadable?: true | undefined;
    })
  | Exclude<WriteResult, { kind: 'put' }>;

/** What goes along with a commit. */
export interface CommitOptions extends CallOptions {
  /** Called before the store is asked to write: until then nothing can have been written, after the signal never again. */
  readonly onCommit?: (() => void) | undefined;
}

/**
 * A store as one caller sees it: the caller's project only, and of that what {@link decide} allows.
 *
 * What a caller may not see does not exist for it: the same answers as for a missing resource. Fields that are hidden are
 * absent from results, and have no values for searches and sorts.
 */
export interface GuardedStore {
  readonly caller: Caller;
  /** The store's own. */
  readonly model: FhirModel;
  read(keys: readonly GuardedKey[], options?: CallOptions): Promise<readonly ReadResult[]>;
  search(query: GuardedQuery, options?: CallOptions): Promise<SearchPage>;
  searchByReference(
    query: GuardedQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]>;
  /**
   * Writes what the caller may write, all or nothing. Stamps `meta.project` and `meta.author`.
   *
   * @throws FhirError `forbidden` - a write, or a field of it, that is not allowed; `details.index` is its position
   * @throws FhirError `not-found` - an update of what the caller cannot see, or a deletion with `mustExist`
   * @throws FhirError `conflict` - the deletion of a profile that a membership needs; also the store's own reasons
   */
  commit(writes: readonly GuardedWrite[], options?: CommitOptions): Promise<readonly GuardedResult[]>;
  /** The versions that the caller may see: none for a resource that it may not see as it is now. */
  history(
    key: GuardedKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage>;
}
