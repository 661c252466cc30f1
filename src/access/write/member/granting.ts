import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import type { SearchSubject } from '../../../search/evaluate/search-subject.js';
import { homeOf } from '../../caller.js';
import { decide } from '../../decide.js';
import type { Deciding } from '../../evaluate/deciding.js';
import { evaluateCriteria, isLocal, subjectOnUse, overlaidWith } from '../../evaluate/evaluate-criteria.js';
import { withMemberUsers } from '../../evaluate/member-users.js';
import type { AccessRule, Interaction } from '../../rule.js';
import type { CommitState } from './commit-state.js';

/** The rules that grant an interaction with a resource in the commit's state. */
export function* grantingRules(
  state: CommitState,
  interaction: Interaction,
  resource: AnyResource,
): Deciding<readonly AccessRule[]> {
  const granting: AccessRule[] = [];
  const subject = subjectIn(state, resource);
  for (const rule of decide(state.caller, resource.resourceType, interaction) ?? []) {
    if (yield* grants(state, rule, resource, subject)) granting.push(rule);
  }
  return granting;
}

/**
 * The same for a resource as a write finds it. Earlier writes of the commit may revoke access but never grant it:
 * querying the store for hidden resources would reveal their existence.
 */
export function* grantingRulesBefore(
  state: CommitState,
  interaction: Interaction,
  before: AnyResource,
): Deciding<readonly AccessRule[]> {
  const { resourceType: type, id } = before;
  if (state.written.get(type, id!) !== undefined) return yield* grantingRules(state, interaction, before);
  const granted = state.stored.granted.get(referenceTo(type, id!))!.rules;
  const rules = (decide(state.caller, type, interaction) ?? []).filter((rule) => granted.has(rule));
  if (state.written.isEmpty) return rules;
  const still: AccessRule[] = [];
  const subject = subjectIn(state, before);
  for (const rule of rules) if (yield* grants(state, rule, before, subject)) still.push(rule);
  return still;
}

export function* canRead(state: CommitState, before: AnyResource): Deciding<boolean> {
  return (yield* grantingRulesBefore(state, 'read', before)).length > 0;
}

/** The resource for {@link grants}: one for all rules. */
export function subjectIn({ caller, stored }: CommitState, resource: AnyResource): () => SearchSubject {
  return subjectOnUse(resource, { model: caller.rules.model, now: stored.now, baseUrl: stored.baseUrl });
}

/** @param subject {@link subjectIn} the state */
export function* grants(
  state: CommitState,
  rule: AccessRule,
  resource: AnyResource,
  subject: () => SearchSubject,
): Deciding<boolean> {
  if (rule.criteria.kind === 'all') return true;
  const { caller, written, stored } = state;
  const criteria = settledCriteria(state, rule.criteria);
  // A chain may lead back to the resource itself, which then counts in its decided state.
  const overlay = isLocal(criteria) ? written : overlaidWith(caller.rules.model, written, resource, stored.now);
  const scope = {
    model: caller.rules.model,
    project: homeOf(resource.resourceType, caller),
    overlay,
    now: stored.now,
    baseUrl: stored.baseUrl,
  };
  return yield* evaluateCriteria(criteria, subject, scope);
}

/** Replaces placeholders in criteria, so that a store can evaluate them. */
export function settledCriteria({ stored: { memberUsers } }: CommitState, criteria: Criteria): Criteria {
  return memberUsers === undefined ? criteria : withMemberUsers(criteria, memberUsers);
}
