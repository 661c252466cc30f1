import type { AnyResource } from '../fhir/resource.js';
import type { ResourceKey } from './resource-key.js';
import type { SearchQuery } from './search-query.js';
import type { StoredResource } from './stored-resource.js';

/** A write of a commit. */
export type Write = PutWrite | DeleteWrite | EraseWrite | NoMatchAssertion;

/**
 * Creates the resource or its next version. `resource.resourceType` and `.id` equal the key's.
 *
 * An erased resource cannot get another version: the commit rejects with `gone` (`details.index`).
 */
export interface PutWrite {
  readonly kind: 'put';
  readonly key: ResourceKey;
  readonly resource: AnyResource;
  readonly expect?: Expectation | undefined;
  /**
   * Keys that no other current resource of the project may have, such as `User.email=ann@example.org`. They replace the
   * keys of the previous version; a deletion removes them.
   */
  readonly unique?: readonly string[] | undefined;
}

/** Deletes the resource; its history stays. Deleting an absent resource changes nothing. */
export interface DeleteWrite {
  readonly kind: 'delete';
  readonly key: ResourceKey;
  readonly expect?: Expectation | undefined;
}

/**
 * Removes the resource with all its versions, index values and unique keys. One version stays, a deletion with an
 * instant and a reason. Erasing a resource that was never written, or is already erased, changes nothing.
 */
export interface EraseWrite {
  readonly kind: 'erase';
  readonly key: ResourceKey;
  /** Why, as a code without content: see `isErasureReason`. */
  readonly reason: string;
  readonly expect?: Expectation | undefined;
}

/** Fails the commit if the query has a match after the preceding writes, as for a conditional create. */
export interface NoMatchAssertion {
  readonly kind: 'assert-no-match';
  readonly query: SearchQuery;
}

/** The expected current version; `null` if there must be none. */
export type Expectation = { readonly version: string | null };

/** The result of a write. */
export type WriteResult =
  | ({
      readonly kind: 'put';
      /** True when there was no current version before. */ readonly created: boolean;
    } & StoredResource)
  | { readonly kind: 'delete'; /** Null when there was nothing to delete. */ readonly versionId: string | null }
  | {
      readonly kind: 'erase';
      /** The remaining version; null if there was nothing to erase. */
      readonly versionId: string | null;
      /** The number of versions removed. */
      readonly versions: number;
    }
  | { readonly kind: 'assert-no-match' };

/** One write of a commit. */
export interface Change {
  /** After `erase`, drop every cached copy of the resource. */
  readonly kind: 'put' | 'delete' | 'erase';
  readonly key: ResourceKey;
  /** The newest version; for a resource of a removed project, its last version. */
  readonly versionId: string;
}

type PutResult = Extract<WriteResult, { readonly kind: 'put' }>;

/** The result of a put; its resource is made on first access. Most callers of a large commit never read it. */
export function putResultOf(
  stamp: Pick<PutResult, 'created' | 'versionId' | 'lastUpdated'>,
  makeResource: () => AnyResource,
): PutResult {
  return new LazyPutResult(stamp, makeResource);
}

/** Objects with a shared getter take a fifth of the time of literals that each have one of their own. */
class LazyPutResult implements PutResult {
  readonly kind = 'put';
  readonly created: boolean;
  readonly versionId: string;
  readonly lastUpdated: string;
  declare readonly resource: AnyResource;
  readonly #make: () => AnyResource;
  #resource: AnyResource | undefined;

  constructor(
    { created, versionId, lastUpdated }: Pick<PutResult, 'created' | 'versionId' | 'lastUpdated'>,
    makeResource: () => AnyResource,
  ) {
    this.created = created;
    this.versionId = versionId;
    this.lastUpdated = lastUpdated;
    this.#make = makeResource;
    Object.defineProperty(this, 'resource', LazyPutResult.#property);
  }

  /** Its own and enumerable, as copies and comparisons expect of data. */
  static readonly #property = {
    enumerable: true,
    configurable: true,
    get(this: LazyPutResult): AnyResource {
      return (this.#resource ??= this.#make());
    },
  };
}
