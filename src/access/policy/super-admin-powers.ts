import { ruleElements, type PolicyGrant } from './policy-grant.js';
import { ruleInteractions } from './rule-interactions.js';
import type { Interaction } from '../rule.js';

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
