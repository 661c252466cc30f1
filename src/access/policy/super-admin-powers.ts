import { ruleElements, type PolicyGrant } from './policy-grant.js';
import { ruleInteractions } from './rule-interactions.js';
import type { Interaction } from '../rule.js';

/** What may be left to a super administrator who is bound by access policies. */
export type SuperAdminPower = `${'Project' | 'ProjectMembership'}.${Interaction}`;

/**
 * What access policies leave of a super administrator's powers over projects and their members: what their rules grant on
 * `Project` and `ProjectMembership` by name. A rule with conditions leaves nothing, because projects are made and members
 * invited where no condition on stored resources holds yet.
 *
 * @returns undefined when there are no policies, and so no limits
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
