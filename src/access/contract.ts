import { FhirError } from '../fhir/error.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { CallOptions, CommitOptions } from '../store/call-options.js';
import type { HistoryPage, TypeHistoryEntry, TypeHistoryQuery, VersionRange } from '../store/history.js';
import type { ReferenceTarget, ResourceKey } from '../store/resource-key.js';
import type { SearchPage, SearchQuery } from '../store/search-query.js';
import type { ReadResult } from '../store/stored-resource.js';
import type { DeleteWrite, PutWrite, NoMatchAssertion, WriteResult } from '../store/write.js';
import type { Caller } from './caller.js';

/** A key inside the caller's project. */
export type GuardedKey = Omit<ResourceKey, 'project'>;

/** A query inside the caller's project. */
export type GuardedQuery = Omit<SearchQuery, 'project'>;

/** A part of the history of a type inside the caller's project. */
export type GuardedTypeHistory = Omit<TypeHistoryQuery, 'project' | 'ids'>;

/** A write inside the caller's project. */
export type GuardedWrite =
  | (Omit<PutWrite, 'key'> & {
      readonly key: GuardedKey;
      /**
       * Keeps the stored secrets that the resource lacks, for writing back a resource that was read without them.
       * Default: trusted code writes the resource unchanged; members never see or change secrets.
       */
      readonly keepSecrets?: true | undefined;
      /**
       * The library generated the id, so nothing can be stored under it. Every other id was chosen by the caller, and
       * only callers who read all resources of a type may create under an id that they chose.
       */
      readonly generatedId?: true | undefined;
      /**
       * Writes of this library's own records, which callers cannot reach, that accompany this write. Trusted code only.
       */
      readonly records?: readonly (PutWrite | DeleteWrite)[] | undefined;
    })
  | (Omit<DeleteWrite, 'key'> & {
      readonly key: GuardedKey;
      /** Deleting a resource that never existed is `not-found`; deleting it again still changes nothing. */
      readonly mustExist?: true | undefined;
    })
  | (Omit<NoMatchAssertion, 'query'> & { readonly query: GuardedQuery });

/** The result of a write, as the caller sees it. */
export type GuardedResult =
  | (Extract<WriteResult, { kind: 'put' }> & {
      /** Set if the caller may not read the written resource: `resource` then only repeats the request. */
      readonly unreadable?: true | undefined;
    })
  | Exclude<WriteResult, { kind: 'put' }>;

/**
 * A store as one caller sees it: only the caller's project, and in it only what {@link decide} allows.
 *
 * Hidden resources do not exist for the caller: it gets the same answers as for missing ones. Hidden fields are absent
 * from results, and have no values for searches and sorts.
 */
export interface GuardedStore {
  readonly caller: Caller;
  /** The model of the store. */
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
   * @throws FhirError `not-found` - an update of a hidden resource, or a deletion with `mustExist`
   * @throws FhirError `conflict` - the deletion of a profile that a membership needs; also the store's own reasons
   */
  commit(writes: readonly GuardedWrite[], options?: CommitOptions): Promise<readonly GuardedResult[]>;
  /** The versions visible to the caller: none if the current resource is hidden. */
  history(key: GuardedKey, page: VersionRange, options?: CallOptions): Promise<HistoryPage>;
  /**
   * A page of the versions of a type that the caller may see, each decided as in {@link GuardedStore.history}.
   *
   * @throws FhirError `unsupported` - the store does not list the history of a type
   * @throws FhirError `too-costly` - the caller does not see the whole type, and more than 1000 of the resources that it
   * sees changed after the page
   */
  typeHistory(query: GuardedTypeHistory, options?: CallOptions): Promise<readonly TypeHistoryEntry[]>;
}

/** Adds the position of the faulty write to an error. */
export function withIndex(error: FhirError, index: number): FhirError {
  return error.with({ details: { index } });
}

/** The position in an error; undefined if it is not about a write. */
export function failedIndex(error: unknown): number | undefined {
  const index = error instanceof FhirError ? error.details?.['index'] : undefined;
  return typeof index === 'number' ? index : undefined;
}

/** Removes the position, for callers to whom it means nothing. */
export function withoutIndex(error: FhirError): FhirError {
  const { index: _index, ...details } = error.details ?? {};
  return new FhirError(error.code, error.message, {
    issues: error.issues,
    ...(Object.keys(details).length === 0 ? {} : { details }),
    cause: error.cause ?? error,
  });
}
