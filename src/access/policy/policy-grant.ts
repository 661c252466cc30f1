import { extensionsOf, OWN_EXTENSIONS } from '../../fhir/own-extensions.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { Expansions } from '../../search/criteria/criteria.js';
import { ALL_INTERACTIONS, READ_INTERACTIONS, type Interaction } from '../rule.js';
import type { PolicyParameters } from './policy-criteria.js';

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

/**
 * True for a policy that is marked for emergency access. Any value of the extension marks it, so that a malformed one
 * grants nothing outside of emergencies.
 */
export function isMarkedForEmergency(policy: JsonObject): boolean {
  return extensionsOf(policy, OWN_EXTENSIONS.emergencyAccess).length > 0;
}

/** True for a policy that emergency access activates: it is marked with `valueBoolean` true. */
export function isForEmergency(policy: JsonObject): boolean {
  const marks = extensionsOf(policy, OWN_EXTENSIONS.emergencyAccess);
  return marks.length > 0 && marks.every(({ valueBoolean }) => valueBoolean === true);
}

/**
 * The grants in force. Outside of emergencies, a marked policy stays in the list without its rules, so that the
 * membership still counts as bound by policies and does not get the default of its profile's type.
 */
export function grantsThatHold(grants: readonly PolicyGrant[], isEmergency: boolean): readonly PolicyGrant[] {
  return grants.map((grant) => {
    if (!isMarkedForEmergency(grant.policy)) return grant;
    if (isEmergency && isForEmergency(grant.policy)) return { ...grant, emergency: true as const };
    const { resource: _resource, compartment: _compartment, ...policy } = grant.policy;
    return { ...grant, policy };
  });
}

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

/** The powers left to a super administrator with access policies. */
export type SuperAdminPower = `${'Project' | 'ProjectMembership'}.${Interaction}`;

/**
 * The powers over projects and their members that access policies leave to a super administrator: those granted by
 * rules for `Project` and `ProjectMembership` by name. A conditional rule grants none, since a new project or member
 * cannot meet a condition on stored resources yet.
 *
 * @returns undefined without policies, and so without limits
 */
export function superAdminPowers(grants: readonly PolicyGrant[]): ReadonlySet<SuperAdminPower> | undefined {
  if (grants.length === 0) return undefined;
  const powers = new Set<SuperAdminPower>();
  for (const { policy } of grants) {
    if (policy['compartment'] !== undefined) continue;
    for (const rule of ruleElements(policy)) {
      const type = rule['resourceType'];
      if ((type !== 'Project' && type !== 'ProjectMembership') || CONDITIONS.some((name) => hasValue(rule[name])))
        continue;
      for (const interaction of ruleInteractions(rule)) powers.add(`${type}.${interaction}`);
    }
  }
  return powers;
}

const CONDITIONS = ['criteria', 'compartment', 'hiddenFields', 'readonlyFields', 'writeConstraint'];

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);
}
