import type { Container } from '../fhir/container.js';
import { referenceStub } from '../fhir/reference.js';
import type { JsonObject } from '../fhir/resource.js';

/** The facts about targets of references that need no reads of other resources. */
export interface ReferenceTargets {
  /** The type of the target; undefined if the Reference does not name it. */
  type(reference: JsonObject): string | undefined;
  /** The target, if it is contained or in the same Bundle. */
  resource(reference: JsonObject): JsonObject | undefined;
  /** The resource that these references are in; for a contained resource, its container. */
  readonly container: JsonObject;
  /** Where FHIRPath follows these references; undefined if it may not read the targets. */
  readonly place?: Container | undefined;
  /** The targets of the references in such a target. */
  of(target: JsonObject): ReferenceTargets;
  /** The targets of the references in an entry's resource. */
  within(resource: JsonObject): ReferenceTargets;
}

/**
 * The targets of references in one resource.
 *
 * @param known those of the targets found so far
 */
export function referenceTargetsOf(
  container: Container,
  known = new Map<JsonObject, ReferenceTargets>(),
): ReferenceTargets {
  const targets: ReferenceTargets = {
    container: container.resource,
    place: container,
    of: (target) => known.get(target) ?? targets,
    within: (resource) => referenceTargetsOf(container.within(resource)),
    resource({ reference }) {
      const found = typeof reference === 'string' ? container.resolve(reference) : undefined;
      if (found?.kind !== 'inside') return undefined;
      if (!known.has(found.resource)) {
        known.set(found.resource, found.container === container ? targets : referenceTargetsOf(found.container, known));
      }
      return found.resource;
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
