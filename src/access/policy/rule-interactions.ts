import type { JsonObject } from '../../fhir/resource.js';
import { ALL_INTERACTIONS, READ_INTERACTIONS, type Interaction } from '../rule.js';

/**
 * The interactions that a rule of an AccessPolicy grants: with `readonly` the reading ones, otherwise the ones it
 * lists, otherwise all. An unknown value grants none.
 */
export function ruleInteractions(rule: JsonObject): readonly Interaction[] {
  const { readonly = false, interaction = ALL_INTERACTIONS } = rule;
  if (typeof readonly !== 'boolean' || !isInteractions(interaction)) return [];
  return readonly ? READ_INTERACTIONS : interaction;
}

function isInteractions(value: unknown): value is readonly Interaction[] {
  return Array.isArray(value) && value.every((one) => (ALL_INTERACTIONS as readonly unknown[]).includes(one));
}
