import { parseReference } from '../fhir/reference.js';
import { referenceStub } from '../fhir/reference-stub.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { objectsOf } from './value-set-codes.js';

/** The facts about targets of references that need no reads of other resources. */
export interface ReferenceTargets {
  /** The type of the target; undefined if the Reference does not name it. */
  type(reference: JsonObject): string | undefined;
  /** The target, if it is contained or in the same Bundle. */
  resource(reference: JsonObject): JsonObject | undefined;
  /** The resource that these references are in; for a contained resource, its container. */
  readonly container: JsonObject;
  /** The targets of the references in such a target. */
  of(target: JsonObject): ReferenceTargets;
}

/** The entries of a Bundle, in which references of its resources are resolved. */
export class BundleEntries {
  readonly #byUrl = new Map<unknown, JsonObject>();
  readonly #targets = new Map<JsonObject, ReferenceTargets>();

  constructor(bundle: JsonObject) {
    for (const { fullUrl, resource } of objectsOf(bundle['entry'])) {
      if (!isJsonObject(resource)) continue;
      if (typeof fullUrl === 'string') this.#byUrl.set(fullUrl, resource);
      this.#targets.set(resource, targetsOf(resource, this, fullUrl));
    }
  }

  find(url: string): JsonObject | undefined {
    return this.#byUrl.get(url);
  }

  /** Of the references in an entry's resource. */
  targetsIn(resource: JsonObject): ReferenceTargets | undefined {
    return this.#targets.get(resource);
  }
}

/**
 * The targets of references in one resource.
 *
 * @param container the resource, with its contained resources
 * @param entries of the Bundle around it
 * @param fullUrl of its own entry, which relative references are relative to. See
 *   https://hl7.org/fhir/R4/bundle.html#references.
 */
export function targetsOf(container: JsonObject, entries?: BundleEntries, fullUrl?: unknown): ReferenceTargets {
  const contained = new Map(objectsOf(container['contained']).map((one) => [one['id'], one]));
  const base = typeof fullUrl === 'string' ? RESTFUL.exec(fullUrl)?.[1] : undefined;
  const targets: ReferenceTargets = {
    container,
    of: (target) => entries?.targetsIn(target) ?? targets,
    resource({ reference }) {
      if (typeof reference !== 'string') return undefined;
      const parsed = parseReference(reference);
      if (parsed?.kind === 'contained') return contained.get(parsed.id);
      return entries?.find(reference) ?? (base === undefined ? undefined : entries?.find(`${base}/${reference}`));
    },
    type(reference) {
      const target = targets.resource(reference)?.['resourceType'];
      if (typeof target === 'string') return target;
      return isContained(reference) ? undefined : referenceStub(reference)?.resourceType;
    },
  };
  return targets;
}

function isContained({ reference }: JsonObject): boolean {
  return typeof reference === 'string' && reference.startsWith('#');
}

const RESTFUL = /^(https?:\/\/.+)\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/;
