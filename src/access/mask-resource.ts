import { elementsOf, isJsonObject, type AnyResource } from '../fhir/resource.js';
import { covers, withoutFields } from './policy/hidden-fields.js';
import type { AccessRule, AccessRules } from './policy/rule.js';

/**
 * A resource as a caller sees it through the rules that grant it: without the fields that all of them hide.
 *
 * Contained resources are seen with their container, but what every rule for their own type hides is hidden in them too.
 *
 * @param all the caller's rules; undefined for trusted code
 */
export function maskResource(
  resource: AnyResource,
  grants: readonly AccessRule[],
  all: AccessRules | undefined,
): AnyResource {
  return maskContained(withoutFields(resource, hiddenByAll(grants)), all);
}

/** Fields that every one of the rules hides; those that some rule shows are seen. */
export function hiddenByAll(rules: readonly AccessRule[]): readonly string[] {
  const fields = new Set(rules.flatMap(({ hidden }) => hidden));
  return [...fields].filter((field) => rules.every(({ hidden }) => coversField(hidden, field)));
}

/** True where a field is one of those named, or inside one. */
export function coversField(named: readonly string[], field: string): boolean {
  return named.some((other) => covers(other, field));
}

function maskContained(resource: AnyResource, all: AccessRules | undefined): AnyResource {
  const contained = elementsOf(resource)['contained'];
  if (all === undefined || !Array.isArray(contained)) return resource;
  let changed = false;
  const masked = contained.map((inner: unknown) => {
    if (!isJsonObject(inner) || typeof inner['resourceType'] !== 'string') return inner;
    const rules = all.rulesFor(inner['resourceType']).filter(({ interactions }) => interactions.has('read'));
    const seen = withoutFields(inner as unknown as AnyResource, hiddenByAll(rules));
    changed ||= elementsOf(seen) !== inner;
    return seen;
  });
  return changed ? ({ ...elementsOf(resource), contained: masked } as unknown as AnyResource) : resource;
}
