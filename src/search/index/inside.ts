import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** A resource that the indexed one contains, with the number that serves as the group of its index entries. */
export interface InsideResource {
  readonly number: number;
  readonly type: string;
  readonly resource: JsonObject;
  /** The resource in which its references `#id` are resolved. */
  readonly holder: JsonObject;
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
  readonly #root: JsonObject;
  /** PERF: few resources contain others. */
  #byObject: Map<JsonObject, InsideResource> | undefined;
  readonly #found: InsideResource[] = [];
  #byFullUrl: ReadonlyMap<string, JsonObject> | undefined;

  constructor(
    private readonly model: FhirModel,
    root: JsonObject,
  ) {
    this.#root = root;
  }

  /** Grows during indexing, since the resources found may reference others. */
  get found(): readonly InsideResource[] {
    return this.#found;
  }

  /** The contained resource of that id. */
  contained(id: string, holder: JsonObject): InsideResource | undefined {
    const { contained } = holder;
    if (!Array.isArray(contained)) return undefined;
    const resource: unknown = contained.find((one: unknown) => isJsonObject(one) && one['id'] === id);
    return isJsonObject(resource) ? this.add(resource, holder) : undefined;
  }

  /** The entry of a Bundle that a reference of another entry names by its `fullUrl`. */
  entry(fullUrl: string): InsideResource | undefined {
    if (this.#root['resourceType'] !== 'Bundle') return undefined;
    const resource = (this.#byFullUrl ??= entriesOf(this.#root)).get(fullUrl);
    return resource === undefined ? undefined : this.add(resource, resource);
  }

  /** @returns undefined for non-resources, and beyond the maximum */
  add(resource: JsonObject, holder: JsonObject): InsideResource | undefined {
    const known = this.#byObject?.get(resource);
    if (known !== undefined) return known;
    const type = resource['resourceType'];
    const number = this.#found.length + 1;
    if (typeof type !== 'string' || !this.model.isResourceType(type) || number > MAX_INSIDE) return undefined;
    const added = { number, type, resource, holder };
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

function entriesOf(bundle: JsonObject): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const entry of Array.isArray(bundle['entry']) ? (bundle['entry'] as readonly unknown[]) : []) {
    if (!isJsonObject(entry) || typeof entry['fullUrl'] !== 'string' || !isJsonObject(entry['resource'])) continue;
    if (!found.has(entry['fullUrl'])) found.set(entry['fullUrl'], entry['resource']);
  }
  return found;
}
