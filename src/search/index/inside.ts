import type { Container } from '../../fhir/container.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { JsonObject } from '../../fhir/resource.js';

/** A resource that the indexed one contains, with the number that serves as the group of its index entries. */
export interface InsideResource {
  readonly number: number;
  readonly type: string;
  readonly resource: JsonObject;
  /** Decides what its references mean. */
  readonly container: Container;
}

/** Maximum number of indexed resources that one contains. Only a hostile resource has more. */
const MAX_INSIDE = 0xffff;
/** Maximum number of composite groups in a contained resource. */
const MAX_GROUPS = 0x7fff;

/**
 * The referenced resources that a resource contains (in `contained`, or as entries of a Bundle), numbered from 1 in the
 * order of discovery.
 *
 * See `inside` in index-entry.ts for the form of their entries.
 */
export class InsideResources {
  /** Few resources contain others. */
  #byObject: Map<JsonObject, InsideResource> | undefined;
  readonly #found: InsideResource[] = [];

  constructor(private readonly model: FhirModel) {}

  /** Grows during indexing, since the resources found may reference others. */
  get found(): readonly InsideResource[] {
    return this.#found;
  }

  /** @returns undefined for non-resources, and beyond the maximum */
  add(resource: JsonObject, container: Container): InsideResource | undefined {
    const known = this.#byObject?.get(resource);
    if (known !== undefined) return known;
    const type = resource['resourceType'];
    const number = this.#found.length + 1;
    if (typeof type !== 'string' || !this.model.isResourceType(type) || number > MAX_INSIDE) return undefined;
    const added = { number, type, resource, container };
    (this.#byObject ??= new Map()).set(resource, added);
    this.#found.push(added);
    return added;
  }
}

/** The group for entries of a contained resource; undefined beyond the maximum. */
export function insideGroup(number: number, group: number): number | undefined {
  return group > MAX_GROUPS ? undefined : group * (MAX_INSIDE + 1) + number;
}

/** Splits a group into the number of the contained resource and the group within it. */
export function splitGroup(group: number): { readonly number: number; readonly group: number } {
  return { number: group & MAX_INSIDE, group: Math.floor(group / (MAX_INSIDE + 1)) };
}

/** The index name of a parameter of a contained resource. */
export function insideParameter(type: string, parameter: string): string {
  return `#${type}.${parameter}`;
}

/** The index name of the links of a reference parameter to contained resources of one type. */
export function linkParameter(parameter: string, type: string): string {
  return `${parameter}#${type}`;
}
