import { type AnyResource, FhirError, type Interaction, type MemberCaller } from '../../src/index.js';
import { type Criteria, type FhirModel, R4, type SearchQuery } from '../../src/store.js';
import { memberCaller } from '../../src/access/caller.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { STEP } from '../../src/access/evaluate/evaluate-criteria.js';
import { WrittenResources } from '../../src/access/evaluate/written-resources.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import type { CommitState } from '../../src/access/write/commit-state.js';
import { decideWrite } from '../../src/access/write/decide-member.js';
import type { DecidedWrite } from '../../src/access/write/ready-write.js';
import { LENIENT } from '../../src/access/write/validate-writes.js';
import { ALL } from '../../src/search/criteria/criteria.js';

export const NOW = Date.parse('2024-01-02T03:04:05Z');
export const FEMALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
export const OF_WOMEN: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: FEMALE };
export const OBSERVED: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: ALL };

export const rule = (criteria: Criteria, ...interactions: readonly Interaction[]): AccessRule => {
  const open = unrestrictedRule('test');
  return { ...open, criteria, ...(interactions.length === 0 ? {} : { interactions: new Set(interactions) }) };
};

type RulesByType = { readonly [type: string]: readonly (Criteria | AccessRule)[] };

export function caller(rules: RulesByType, model: FhirModel = R4): MemberCaller {
  return memberCaller({
    project: 'clinic',
    membership: 'm',
    user: 'User/u',
    profile: 'Practitioner/p',
    admin: false,
    superAdmin: false,
    powers: undefined,
    bound: true,
    rules: { model, rulesFor: rulesByType(rules) },
  });
}

function rulesByType(rules: RulesByType): (type: string) => readonly AccessRule[] {
  const made = new Map(
    Object.entries(rules).map(([type, all]) => [type, all.map((one) => ('kind' in one ? rule(one) : one))]),
  );
  return (type) => made.get(type) ?? [];
}

/** A commit that has not begun. `stored` is in the store in version 1, granted by every rule. */
export function stateOf(who: MemberCaller, ...stored: readonly AnyResource[]): CommitState {
  const granted = stored.map((resource) => {
    const row = { versionId: '1', lastUpdated: '2024-01-01T00:00:00Z', resource };
    return [`${resource.resourceType}/${resource.id!}`, { row, rules: new Set(who.rules.rulesFor(resource.resourceType)) }] as const; // prettier-ignore
  });
  const loaded = {
    deleted: new Set<string>(),
    granted: new Map(granted),
    memberUsers: undefined,
    baseUrl: undefined,
    now: NOW,
  };
  return { caller: who, validation: LENIENT, stored: loaded, written: WrittenResources.none(R4, NOW) };
}

export const put = (resource: AnyResource): GuardedWrite => ({
  kind: 'put',
  key: { type: resource.resourceType, id: resource.id! },
  resource,
});

export const patient = (gender: string): AnyResource => ({ resourceType: 'Patient', id: 'her', gender }) as AnyResource;
export const observation = (id = 'o'): AnyResource =>
  ({ resourceType: 'Observation', id, status: 'final', subject: { reference: 'Patient/her' } }) as AnyResource;

/** Decides, with answers to the queries in their order. */
export function decided(
  state: CommitState,
  write: GuardedWrite,
  answers: readonly boolean[] = [],
): { readonly decision: DecidedWrite<CommitState> | FhirError; readonly queries: readonly SearchQuery[] } {
  const queries: SearchQuery[] = [];
  const deciding = decideWrite(state, write, 0);
  try {
    let step = deciding.next();
    while (step.done !== true) {
      if (step.value === STEP) {
        step = deciding.next(false);
        continue;
      }
      queries.push(step.value);
      step = deciding.next(answers[queries.length - 1]!);
    }
    return { decision: step.value, queries };
  } catch (error) {
    if (error instanceof FhirError) return { decision: error, queries };
    throw error;
  }
}

export const expectDecided = (decision: DecidedWrite<CommitState> | FhirError): DecidedWrite<CommitState> => {
  if (decision instanceof FhirError) throw decision;
  return decision;
};
