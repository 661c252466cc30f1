import type { Meta, Resource } from '@medplum/fhirtypes';

/**
 * A resource as it came out of the store: with an id and the `meta` of its version. A policy that hides `meta`, or another
 * element that the type requires, takes it away from its callers all the same.
 */
export type Stored<Kept extends Resource> = Kept & {
  id: string;
  meta: Meta & { versionId: string; lastUpdated: string };
};
