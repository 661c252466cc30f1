import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { pushTo } from '../../platform/collections.js';
import type { IndexEntry } from '../index/index-entry.js';
import { indexEntries } from '../index/index-resource.js';
import { insideParameter, linkParameter, splitGroup } from '../index/inside.js';

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

/** Groups index entries by parameter; their order is kept. */
export function groupEntries(entries: readonly IndexEntry[]): ReadonlyMap<string, readonly IndexEntry[]> {
  const groups = new Map<string, IndexEntry[]>();
  for (const entry of entries) pushTo(groups, entry.parameter, entry);
  return groups;
}

/** The resources of one type in the subject that a reference parameter points to. */
export function insideSubjects(subject: SearchSubject, parameter: string, type: string): readonly SearchSubject[] {
  if (subject.sealed === true) return [];
  const links = subject.entries.get(linkParameter(parameter, type)) ?? [];
  return links.flatMap(({ value }) =>
    value.kind === 'number' ? insideSubject(subject.container ?? subject, type, value.low) : [],
  );
}

/** The subject of a contained resource, by its number and type. */
export function insideSubject(container: SearchSubject, type: string, number: number): SearchSubject {
  const prefix = insideParameter(type, '');
  const entries = new Map<string, readonly IndexEntry[]>();
  for (const [name, list] of container.entries) {
    if (!name.startsWith(prefix)) continue;
    const parameter = name.slice(prefix.length);
    const own = list.flatMap(({ group, value }): IndexEntry[] => {
      const split = splitGroup(group);
      return split.number === number ? [{ parameter, group: split.group, value }] : [];
    });
    if (own.length > 0) entries.set(parameter, own);
  }
  return { type, id: '', lastUpdated: NaN, entries, container };
}
