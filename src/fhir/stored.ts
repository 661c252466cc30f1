import type { Meta, Resource } from '@medplum/fhirtypes';

/**
 * A resource read from the store: with an id and the `meta` of its version. Access policies may hide `meta` and other
 * required elements at run time.
 */
export type Stored<Kept extends Resource> = Kept & {
  id: string;
  meta: Meta & { versionId: string; lastUpdated: string };
};
