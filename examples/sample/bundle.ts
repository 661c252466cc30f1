import type { Bundle, Reference, Resource } from 'fhirgraph/types';

/** A resource of one type that has its id. */
export type Identified<Kind extends Resource> = Kind & { readonly id: string };

/** A reference to a resource of the same Bundle, as senders write it: by its `urn:uuid:` fullUrl. */
export function within<Kind extends Resource>(resource: Identified<Kind>, display?: string): Reference<Kind> {
  return { reference: `urn:uuid:${resource.id}`, ...(display === undefined ? {} : { display }) };
}

/** A reference to a resource that came with an earlier Bundle. */
export function earlier<Kind extends Resource>(resource: Identified<Kind>, display?: string): Reference<Kind> {
  return { reference: `${resource.resourceType}/${resource.id}`, ...(display === undefined ? {} : { display }) };
}

/** Creates all resources at once. */
export function transaction(resources: readonly Identified<Resource>[]): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: resources.map((resource) => ({
      fullUrl: `urn:uuid:${resource.id}`,
      resource,
      request: { method: 'POST', url: resource.resourceType },
    })),
  };
}
