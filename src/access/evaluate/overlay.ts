import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { createSubject, type SearchSubject } from '../../search/evaluate/search-subject.js';

/** The writes of a commit over the stored resources: later writes of the commit see them as stored. */
export interface Overlay {
  /** Undefined if the commit does not write it, null if it deletes it. */
  find(type: string, id: string): SearchSubject | null | undefined;
  /** The resources of a type that the commit writes. */
  subjects(type: string): Iterable<SearchSubject>;
  /** Ids of resources of a type whose stored versions are outdated. */
  replaced(type: string): readonly string[];
}

/** No commit: only stored resources count. */
export const NO_OVERLAY: Overlay = { find: () => undefined, subjects: () => [], replaced: () => [] };

/** Adds one resource to the overlay, with precedence over the commit and the store. */
export function overlaidWith(model: FhirModel, overlay: Overlay, resource: AnyResource, now: number): Overlay {
  const { resourceType: type, id = '' } = resource;
  let subject: SearchSubject | undefined;
  const own = (): SearchSubject => (subject ??= createSubject(model, resource, now));
  return {
    find: (otherType, otherId) => (otherType === type && otherId === id ? own() : overlay.find(otherType, otherId)),
    *subjects(otherType) {
      for (const other of overlay.subjects(otherType)) if (otherType !== type || other.id !== id) yield other;
      if (otherType === type) yield own();
    },
    replaced: (otherType) => (otherType === type ? [...overlay.replaced(type), id] : overlay.replaced(otherType)),
  };
}
