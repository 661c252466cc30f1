import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AccessRule, AccessRules } from '../rule.js';

/**
 * Creates the rules of each type at first use, and caches them. Names that are not resource types have no rules.
 *
 * @param cache may have the rules of some types already
 */
export function rulesByType(
  model: FhirModel,
  make: (type: string) => readonly AccessRule[],
  cache = new Map<string, readonly AccessRule[]>(),
): AccessRules {
  return {
    model,
    rulesFor(type) {
      // Only known types are cached, so the cache is bounded for any names.
      if (!model.isResourceType(type)) return [];
      let rules = cache.get(type);
      if (rules === undefined) cache.set(type, (rules = make(type)));
      return rules;
    },
  };
}
