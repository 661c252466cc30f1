import type { Bundle, ExtractResource, Resource, ResourceType } from '@medplum/fhirtypes';
import type { Caller } from '../access/caller.js';
import type { CallLimits } from '../access/limits/call-limits.js';
import type { AuditOptions } from '../audit/audit.js';
import type { JsonPatchOperation } from '../fhir/json-patch.js';
import type { Stored } from '../fhir/resource.js';
import type { GuardedSession } from '../interactions/interaction-session.js';
import type { ResourceStore } from '../store/store.js';
import type { RepositorySearch } from './search-query.js';

/**
 * FHIR's RESTful interactions under the rights of one caller, without HTTP. See https://hl7.org/fhir/R4/http.html.
 *
 * - Resources hidden from the caller do not exist for it: they are `not-found`, and absent from lists and counts.
 * - Every returned resource is a private copy that you can change and write back. It lacks the fields that are hidden
 *   from the caller; they stay unchanged when you write it back.
 * - Every method rejects with a `FhirError`. In addition to the codes below: `invalid` for an unknown type or a
 *   malformed value, `unprocessable` for a resource that strict mode refuses, `aborted`, `unavailable`.
 */
export interface Repository {
  /**
   * Stores a new resource. It gets a new UUID as id; an id in the resource is ignored, as FHIR requires.
   *
   * With `ifNoneExist`, if a resource matches that search, it is returned and nothing is stored.
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
   * One version, including versions of deleted resources. A version is visible if a rule grants both the version and
   * the current resource: versions from before the caller gained access stay hidden.
   *
   * @throws FhirError `not-found`, `gone` - the version is the deletion
   */
  vread<Type extends ResourceType>(type: Type, id: string, versionId: string): Promise<Stored<ExtractResource<Type>>>;

  /**
   * Stores the next version of a resource, or its first version under an id of the client's choice. Only a caller who
   * sees every resource of the type may choose an id; for others an unknown id is `not-found`, like the id of an
   * invisible resource.
   *
   * @throws FhirError `forbidden` - not allowed to update it, or to change a field of it
   * @throws FhirError `precondition-failed` - `ifMatch` does not name the current version
   */
  update<Updated extends Resource>(
    resource: Updated,
    options?: UpdateOptions,
  ): Promise<Stored<ExtractResource<Updated['resourceType']>>>;

  /**
   * Changes a resource by a JSON Patch (RFC 6902) of the part visible to the caller. All operations take effect or
   * none.
   *
   * @throws FhirError `invalid` - not a JSON Patch, or it changes type or id
   * @throws FhirError `unprocessable` - a path does not exist, or a `test` does not hold
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
   * @throws FhirError `conflict` - it is the profile of a member, named in the message for callers who may read
   * memberships
   * @throws FhirError `precondition-failed` - `ifMatch` does not name the current version
   */
  delete(type: ResourceType, id: string, options?: MatchOptions): Promise<void>;

  /**
   * Updates the one resource that matches a search, or creates it if nothing matches. Callers who see every resource of
   * the type create it under the id in the resource; otherwise it gets a new id. Concurrent calls create one resource.
   *
   * @param condition search text such as `identifier=http://x|1`
   * @throws FhirError `precondition-failed` - several resources match
   * @throws FhirError `invalid` - the condition has no search parameter, or the match has another id than the resource
   * @throws FhirError `forbidden` - as for {@link update}
   */
  conditionalUpdate<Updated extends Resource>(
    resource: Updated,
    condition: string,
    options?: MatchOptions,
  ): Promise<Stored<ExtractResource<Updated['resourceType']>>>;

  /**
   * Patches the one resource that matches a search.
   *
   * @throws FhirError `not-found` - nothing matches
   * @throws FhirError `precondition-failed` - several resources match
   * @throws FhirError `invalid`, `unprocessable`, `forbidden` - as for {@link patch}
   */
  conditionalPatch<Type extends ResourceType>(
    type: Type,
    condition: string,
    operations: readonly JsonPatchOperation[],
    options?: MatchOptions,
  ): Promise<Stored<ExtractResource<Type>>>;

  /**
   * Deletes the one resource that matches a search. If nothing matches, nothing happens.
   *
   * @throws FhirError `precondition-failed` - several resources match
   * @throws FhirError `forbidden`, `conflict` - as for {@link delete}
   */
  conditionalDelete(type: ResourceType, condition: string, options?: MatchOptions): Promise<void>;

  /**
   * One page of the resources that match: 20 unless `_count` says otherwise, 1000 at most, in the order of their ids
   * unless `_sort` does. Links lead to the pages before and after, which begin or end at a match of this page: writes
   * in between make them neither skip nor repeat other matches. `total` is present with `_total=accurate` (or
   * `estimate`); with `_summary=count` the page has nothing else.
   *
   * `_include` and `_revinclude`, also with `:iterate`, add related resources as the caller sees them (`search.mode` is
   * `include`), at most 1000 per page. `_elements`, `_fields` and `_summary` reduce resources, which then have the tag
   * `SUBSETTED`.
   *
   * @param query a query string, parameters, an object of these, or criteria by `createSearch`. An object that a web
   * framework parsed from a query string is read as parameters, with any content.
   * @throws FhirError `invalid`, `unsupported` - a malformed or unsupported search
   * @throws FhirError `too-costly` - a page of more than 1000 resources, or more than 1000 included resources
   */
  search<Type extends ResourceType>(
    type: Type,
    query?: RepositorySearch,
  ): Promise<Bundle<Stored<ExtractResource<Type>>>>;

  /**
   * The versions of a resource, newest first, its deletions included. Links lead to the pages before and after; later
   * writes do not shift them.
   *
   * @throws FhirError `not-found`
   * @throws FhirError `invalid` - `since` or `at` is neither an instant nor a date, or the cursor is not from a link
   * @throws FhirError `too-costly` - a page of more than 1000
   */
  history<Type extends ResourceType>(
    type: Type,
    id: string,
    page?: VersionsPage,
  ): Promise<Bundle<Stored<ExtractResource<Type>>>>;

  /**
   * A page of the versions of all resources of a type, newest first, deletions included. Each resource contributes the
   * versions that its own history shows. The `next` link has the cursor of the next page; later writes do not shift the
   * pages.
   *
   * Callers who do not see the whole type see no deletions, and can page through the versions of the 1000 resources
   * that changed last since `since`.
   *
   * @throws FhirError `unsupported` - the store does not list the history of a type
   * @throws FhirError `invalid` - `since` is not an instant, or the cursor is not from a link
   * @throws FhirError `too-costly` - a page of more than 1000, or one beyond those 1000 resources
   */
  typeHistory<Type extends ResourceType>(
    type: Type,
    page?: TypeHistoryPage,
  ): Promise<Bundle<Stored<ExtractResource<Type>>>>;

  /**
   * A page of the versions of all resources of the project, newest first: by instant, then by type. Each type contributes
   * the versions that {@link Repository.typeHistory} shows.
   *
   * @throws FhirError `unsupported`, `invalid`, `too-costly` - as for {@link Repository.typeHistory}
   */
  systemHistory(page?: TypeHistoryPage): Promise<Bundle<Stored<Resource>>>;

  /**
   * Follows a search: what begins to match, what changes visibly, and what matches no more, each as the caller sees it.
   * Filter and rights are evaluated on the version before a change and on the one after it.
   *
   * The subscription begins at the call, so that a search after the call misses nothing: apply the events to its matches.
   * Events may come again after a break, and several changes may come as one; `leave` says no reason. A slow reader gets the
   * newest version. It ends without an error when the loop ends, by the signal, and when the store is closed.
   *
   * @param query as for {@link search}, without order, pages and included resources
   * @throws FhirError `invalid` - a malformed search
   * @throws FhirError `unsupported` - the filter or the caller's rules depend on other resources (chains, `_has`, value
   * sets); the store does not list its changes
   * @throws FhirError `throttled` - more subscriptions than `limits.streams` allows
   * @throws FhirError `reset`, while it runs - what the reader knows is not certain any more: the position is too old or of
   * another database, the caller's rules have changed, content was erased. Search again, and subscribe again.
   * @throws FhirError the codes of `signIn`, while it runs - the caller could not sign in any more
   *
   * @example
   * for await (const { event, id, resource } of repository.subscribe('Observation', { patient: 'p1' })) {
   *   if (event === 'leave') board.delete(id);
   *   else board.set(id, resource);
   * }
   */
  subscribe<Type extends ResourceType>(
    type: Type,
    query?: RepositorySearch,
    options?: SubscribeOptions,
  ): AsyncGenerator<ResourceEvent<Stored<ExtractResource<Type>>>, undefined, undefined>;

  /**
   * Executes a Bundle: a `transaction` atomically, a `batch` entry by entry. Resources that are POSTed get new ids, and
   * links to them are rewritten.
   *
   * @returns a Bundle of type `transaction-response` or `batch-response`, an entry per entry
   * @throws FhirError of the first faulty entry of a transaction, with an issue per faulty entry
   */
  transaction(bundle: Bundle, options?: TransactionOptions): Promise<Bundle>;
}

/** Options of `transaction`. */
export interface TransactionOptions {
  /** The entries of the response contain the written resources, as the caller sees them. Default false. */
  readonly representation?: boolean | undefined;
}

/** Options of every write. */
export interface WriteOptions {
  /**
   * Profiles that the resource must conform to, instead of those of the repository's context: `true` for those in its
   * `meta.profile`, or canonical URLs. The project may require more.
   */
  readonly profiles?: true | readonly string[] | undefined;
}

/** Options of `create`. */
export interface CreateOptions extends WriteOptions {
  /** Search text (`identifier=http://x|1`): nothing is created if a resource matches it. */
  readonly ifNoneExist?: string | undefined;
}

/** Options of writes with a version condition. */
export interface MatchOptions extends WriteOptions {
  /** The version that must be current: `3`, or the entity tag `W/"3"`. */
  readonly ifMatch?: string | undefined;
}

/** Options of `update`. */
export interface UpdateOptions extends MatchOptions {
  /** `*`: the resource must not exist yet, else `precondition-failed`. */
  readonly ifNoneMatch?: '*' | undefined;
}

/** Options of `subscribe`. */
export interface SubscribeOptions {
  /** The position of an event, to continue after it with the same rights. Default: the position at the call. */
  readonly after?: string | undefined;
  /** Ends the subscription, without an error. */
  readonly signal?: AbortSignal | undefined;
}

/** A change of the matches of a search, as the caller sees them. */
export interface ResourceEvent<Resource> {
  /** It matches now and did not before; it still matches and a visible element differs; it matched before and does not now. */
  readonly event: 'enter' | 'update' | 'leave';
  readonly id: string;
  /** The current version; absent for `leave`. */
  readonly resource?: Resource | undefined;
  /** Where to continue after a break: opaque. A subscription after it misses nothing, and repeats some events at most. */
  readonly position: string;
}

/** A page of the versions of a resource. */
export interface VersionsPage {
  /** Maximum number of versions on the page. Default 20, at most 1000. */
  readonly count?: number | undefined;
  /** Number of versions to skip. Default 0; not together with `cursor`. */
  readonly offset?: number | undefined;
  /** `_cursor` of a link of another page. */
  readonly cursor?: string | undefined;
  /** Only versions written at this instant or later: an instant or date as FHIR writes it. */
  readonly since?: string | undefined;
  /** Only versions that were current at some moment of this instant or date. A deletion counts as a version. */
  readonly at?: string | undefined;
}

/** A page of the history of a type, or of the whole project. */
export interface TypeHistoryPage {
  /** Maximum number of versions on the page. Default 20, at most 1000. */
  readonly count?: number | undefined;
  /** Only versions written at this instant or later: an instant or date as FHIR writes it. */
  readonly since?: string | undefined;
  /** `_cursor` of the `next` link of the previous page. */
  readonly cursor?: string | undefined;
}

/** The context of a repository. */
export interface RepositoryContext extends AuditOptions {
  readonly store: ResourceStore;
  /** From `signIn`, or `systemCaller(project)` or `serverCaller()` for trusted code. */
  readonly caller: Caller;
  /**
   * The base URL of `fullUrl`s and of links in Bundles. It must be that of the store, if the store has one; otherwise
   * references below it lead to another server. Default: that of the store. Without either, links are relative and
   * entries have no `fullUrl`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Resources carry Medplum's `meta.project` and `meta.author`, which R4 does not define: the project of a resource,
   * and its author. Default false. Written resources are always stamped with them.
   */
  readonly extendedMeta?: boolean | undefined;
  /**
   * Profiles that written resources must conform to, in addition to those that the project requires: `true` for those
   * in their `meta.profile`, or a list of canonical URLs, each for the resources of its type. Writes that do not
   * conform are `unprocessable`. Default: those of the project only.
   */
  readonly profiles?: true | readonly string[] | undefined;
  /**
   * `_include` and `$everything` also follow references that have only an identifier, if exactly one resource has it.
   * Default false, as for GraphQL.
   */
  readonly resolveIdentifiers?: boolean | undefined;
  /** Ends the work early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** The limits of each interaction. */
  readonly limits?: CallLimits | undefined;
}

/** The internal context of a repository. Its base URL has no trailing slash. */
export interface RepositorySession extends GuardedSession {
  /** Of links, without a slash at its end. */
  readonly baseUrl: string | undefined;
  readonly resolveIdentifiers?: boolean | undefined;
}
