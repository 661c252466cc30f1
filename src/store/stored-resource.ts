import type { AnyResource } from '../fhir/resource.js';

/** A resource as stored, `meta.versionId` and `meta.lastUpdated` included. */
export interface StoredResource {
  readonly versionId: string;
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  readonly resource: AnyResource;
}

/** The result of a read: the resource, its deletion, or nothing. */
export type ReadResult =
  | ({ readonly status: 'found' } & StoredResource)
  /** No such resource, or no such version of it. */
  | { readonly status: 'missing' }
  /** Deleted, with the version of the deletion. */
  | ({ readonly status: 'gone' } & Deletion);

/** A version without content: a deletion, or the tombstone of an erased resource. */
export interface Deletion {
  readonly versionId: string;
  /** ISO 8601 instant, UTC. */
  readonly lastUpdated: string;
  /** Set if the resource was erased: only this version is left. */
  readonly erased?: { readonly reason: string } | undefined;
}
