import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { groupEntries } from './group-entries.js';
import type { IndexEntry } from '../index/index-entry.js';
import { indexEntries } from '../index/index-resource.js';

/** An indexed resource, the input of `matches` and `compareSubjects`. */
export interface SearchSubject {
  readonly type: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly lastUpdated: number;
  /** By the entry's parameter (`code`, `code-value-quantity$0`, `subject:identifier`). */
  readonly entries: ReadonlyMap<string, readonly IndexEntry[]>;
  /** The container of a contained resource, which has no id, and NaN as `lastUpdated`. */
  readonly container?: SearchSubject;
  /** True if a chain reached this resource from a contained resource. */
  readonly sealed?: boolean;
}

/** The other resources that chains and `_has` reach: the visible resources of one project. */
export interface SearchWorld {
  /** @returns undefined for a resource that does not exist or is not visible to this search */
  find(type: string, id: string): SearchSubject | undefined;
  /** The resources of a type whose reference parameter points to the target. */
  referencing(
    type: string,
    parameter: string,
    target: { readonly type: string; readonly id: string },
  ): Iterable<SearchSubject>;
}

/** A world without other resources, for criteria about the resource alone. */
export const EMPTY_WORLD: SearchWorld = Object.freeze({ find: () => undefined, referencing: () => [] });

/**
 * Indexes a resource for {@link matches}.
 *
 * @param lastUpdated milliseconds since 1970, or an ISO 8601 instant.
 */
export function createSubject(model: FhirModel, resource: AnyResource, lastUpdated: number | string): SearchSubject {
  return subjectWith(resource, lastUpdated, groupEntries(indexEntries(model, resource)));
}

/** {@link createSubject} with the entries of the resource. */
export function subjectWith(
  resource: AnyResource,
  lastUpdated: number | string,
  entries: SearchSubject['entries'],
): SearchSubject {
  return {
    type: resource.resourceType,
    id: resource.id ?? '',
    lastUpdated: typeof lastUpdated === 'number' ? lastUpdated : Date.parse(lastUpdated),
    entries,
  };
}
