import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AccessRule, AccessRules } from '../rule.js';

/** Rules made at first use of each type, and kept. What is not a resource type has none. */
export function rulesByType(model: FhirModel, make: (type: string) => readonly AccessRule[]): AccessRules {
  const cache = new Map<string, readonly AccessRule[]>();
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
