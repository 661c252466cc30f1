import type { Bundle, ExtractResource, Resource, ResourceType } from '@medplum/fhirtypes';
import type { JsonPatchOperation } from '../fhir/json-patch/json-patch.js';
import type { RepositorySearch } from './search-query.js';
import type { Stored } from '../fhir/stored.js';

/**
 * FHIR's RESTful interactions as one caller may use them, without HTTP. See https://hl7.org/fhir/R4/http.html.
 *
 * - What the caller may not see does not exist for it: `not-found`, or absent from lists and counts.
 * - Every resource handed out is a copy of the host's own, to change and to write back; fields that are hidden from the
 *   caller are not in it, and stay as they are when it is written back.
 * - Every method rejects with a `FhirError`. Besides the codes named below: `invalid` for a type or a value that is none,
 *   `unprocessable` for what a project in strict mode refuses, `aborted`, `unavailable`.
 */
export interface Repository {
  /**
   * Stores a new resource. Its id is made here, a UUID; one that the resource brings along is ignored, as FHIR says.
   *
   * With `ifNoneExist`, a resource that matches that search is answered instead, and nothing is stored.
   *
   * @throws FhirError `forbidden` - not allowed to create it, or to set a field of it
   * @throws FhirError `precondition-failed` - several resources match `ifNoneExist`
   */
  create<Created extends Resource>(
    resource: Created,
    options?: CreateOptions,
  ): Promise<Stored<ExtractResource<Created['resourceType']>>>;

  /**
   * The current version.
   *
   * @throws FhirError `not-found`, `gone` - it was deleted
   */
  read<Type extends ResourceType>(type: Type, id: string): Promise<Stored<ExtractResource<Type>>>;

  /**
   * One version, also of a resource that was deleted since. Seen are those that a rule grants
   * which grants the resource as it is now too: what it was while it was not the caller's is not the caller's to see.
   *
   * @throws FhirError `not-found`, `gone` - the version is the deletion
   */
  vread<Type extends ResourceType>(type: Type, id: string, versionId: string): Promise<Stored<ExtractResource<Type>>>;

  /**
   * Stores the next version of a resource, or the first one under an id of the client's choice. Only a caller who sees
   * every resource of the type may choose an id; for others an unknown id is `not-found`, as an invisible one is.
   *
   * @throws FhirError `forbidden` - not allowed to update it, or to change a field of it
   * @throws FhirError `precondition-failed` - the current version is not that of `ifMatch`
   */
  update<Updated extends Resource>(
    resource: Updated,
    options?: MatchOptions,
  ): Promise<Stored<ExtractResource<Updated['resourceType']>>>;

  /**
   * Changes a resource by a JSON Patch (RFC 6902) of what the caller sees of it. All operations take effect or none.
   *
   * @throws FhirError `invalid` - no JSON Patch, or one that changes type or id
   * @throws FhirError `unprocessable` - a path leads nowhere, or a `test` does not hold
   * @throws FhirError `not-found`, `gone`, `forbidden`, `precondition-failed` - as for {@link update}
   */
  patch<Type extends ResourceType>(
    type: Type,
    id: string,
    operations: readonly JsonPatchOperation[],
    options?: MatchOptions,
  ): Promise<Stored<ExtractResource<Type>>>;

  /**
   * Deletes a resource; its versions stay. Deleting it again changes nothing.
   *
   * @throws FhirError `not-found`, `forbidden`
   * @throws FhirError `conflict` - it is the profile of a member, whom the message names to those who read memberships
   * @throws FhirError `precondition-failed` - the current version is not that of `ifMatch`
   */
  delete(type: ResourceType, id: string, options?: MatchOptions): Promise<void>;

  /**
   * One page of the resources that match: 20 unless `_count` says otherwise, 1000 at most, in the order of their ids
   * unless `_sort` does. Links lead to the pages before and after; `total` is there when `_total=accurate` (or
   * `estimate`) asks for it, and alone with `_summary=count`.
   *
   * @param query a query string, parameters, an object of these, or criteria by `createSearch`. An object that a web
   * framework parsed from a query string is taken for parameters, whatever it holds.
   * @throws FhirError `invalid`, `unsupported` - a search that cannot be understood or carried out
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  search<Type extends ResourceType>(
    type: Type,
    query?: RepositorySearch,
  ): Promise<Bundle<Stored<ExtractResource<Type>>>>;

  /**
   * The versions of a resource, newest first, its deletions included.
   *
   * @throws FhirError `not-found`
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  history<Type extends ResourceType>(
    type: Type,
    id: string,
    page?: VersionsPage,
  ): Promise<Bundle<Stored<ExtractResource<Type>>>>;

  /**
   * Carries out a Bundle of type `transaction`, as a whole or not at all, or of type `batch`, each entry on its own.
   * Resources that are POSTed get new ids, and links to them follow.
   *
   * @returns a Bundle of type `transaction-response` or `batch-response`, an entry per entry
   * @throws FhirError of the first faulty entry of a transaction, with an issue per faulty entry
   */
  transaction(bundle: Bundle): Promise<Bundle>;
}

export interface CreateOptions {
  /** Search text (`identifier=http://x|1`): nothing is created where a resource matches it. */
  readonly ifNoneExist?: string | undefined;
}

export interface MatchOptions {
  /** The version that must be current: `3`, or the entity tag `W/"3"`. */
  readonly ifMatch?: string | undefined;
}

export interface VersionsPage {
  /** Most versions in the page. Default 20, at most 1000. */
  readonly count?: number | undefined;
  /** Versions to leave out before the page. Default 0. */
  readonly offset?: number | undefined;
}
