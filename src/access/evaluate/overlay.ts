import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { createSubject, type SearchSubject } from '../../search/evaluate/search-subject.js';

/** What a commit writes, laid over what is stored: for the writes after it, it counts as stored already. */
export interface Overlay {
  /** Undefined where the commit does not write it, null where it deletes it. */
  find(type: string, id: string): SearchSubject | null | undefined;
  /** The resources of a type that the commit writes. */
  subjects(type: string): Iterable<SearchSubject>;
  /** Ids of resources of a type whose stored version no longer counts. */
  replaced(type: string): readonly string[];
}

/** No commit: only what is stored counts. */
export const NO_OVERLAY: Overlay = { find: () => undefined, subjects: () => [], replaced: () => [] };

/** The overlay with one resource more, which counts as it is given, whatever the commit or the store say of it. */
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
