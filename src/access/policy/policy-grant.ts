import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { Expansions } from '../../search/criteria/concept-tests.js';
import type { PolicyParameters } from './parameters.js';

/** An AccessPolicy with the parameters that one membership gives it. */
export interface PolicyGrant {
  /** `AccessPolicy/1`. */
  readonly reference: string;
  readonly policy: JsonObject;
  readonly parameters: PolicyParameters;
  /** Set if emergency access activates the policy. */
  readonly emergency?: true | undefined;
  /** The concepts that its criteria test, by request: see `expansionsIn`. Default: none. */
  readonly expansions?: Expansions | undefined;
}

/** The rules of an AccessPolicy; non-objects are ignored. */
export function ruleElements(policy: JsonObject): JsonObject[] {
  const rules = policy['resource'];
  return Array.isArray(rules) ? rules.filter(isJsonObject) : [];
}

/** The element paths in a list of a rule; non-strings are ignored. */
export function ruleFields(rule: JsonObject, list: 'hiddenFields' | 'readonlyFields'): string[] {
  const fields = rule[list];
  return Array.isArray(fields) ? fields.filter((one) => typeof one === 'string') : [];
}
