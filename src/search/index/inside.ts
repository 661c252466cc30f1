import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** A resource inside the one that is indexed, with the number that its index entries have as their group. */
export interface InsideResource {
  readonly number: number;
  readonly type: string;
  readonly resource: JsonObject;
  /** The resource whose contained resources its references `#id` name. */
  readonly holder: JsonObject;
}

/** Resources inside one resource that are indexed. More could only stand there to fill an index. */
const MAX_INSIDE = 0xffff;
/** Groups of composite values in one of them. */
const MAX_GROUPS = 0x7fff;

/**
 * The resources inside a resource that its references lead to, numbered from 1 in the order in which they are found.
 *
 * See `inside` in index-entry.ts for the form of their entries.
 */
export class InsideResources {
  readonly #root: JsonObject;
  readonly #byObject = new Map<JsonObject, InsideResource>();
  readonly #found: InsideResource[] = [];
  #byFullUrl: ReadonlyMap<string, JsonObject> | undefined;

  constructor(
    private readonly model: FhirModel,
    root: JsonObject,
  ) {
    this.#root = root;
  }

  /** Grows while the resources in it are indexed, as these may lead to others. */
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

  /** @returns undefined for what is no resource, and for one too many */
  add(resource: JsonObject, holder: JsonObject): InsideResource | undefined {
    const known = this.#byObject.get(resource);
    if (known !== undefined) return known;
    const type = resource['resourceType'];
    const number = this.#found.length + 1;
    if (typeof type !== 'string' || !this.model.isResourceType(type) || number > MAX_INSIDE) return undefined;
    const added = { number, type, resource, holder };
    this.#byObject.set(resource, added);
    this.#found.push(added);
    return added;
  }
}

/** The group of entries of a resource inside; undefined for one too many. */
export function insideGroup(number: number, group: number): number | undefined {
  return group > MAX_GROUPS ? undefined : group * (MAX_INSIDE + 1) + number;
}

/** The number of the resource inside that a group belongs to, and the group in that resource. */
export function splitGroup(group: number): { readonly number: number; readonly group: number } {
  return { number: group & MAX_INSIDE, group: Math.floor(group / (MAX_INSIDE + 1)) };
}

/** The name under which a parameter of a resource inside is indexed. */
export function insideParameter(type: string, parameter: string): string {
  return `#${type}.${parameter}`;
}

/** The name of the links that a reference parameter has to resources inside, of one type. */
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
