import { R4 } from '../../src/fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { memberCaller, type MemberCaller } from '../../src/access/caller.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { WrittenResources } from '../../src/access/evaluate/written-resources.js';
import { unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import type { CommitState } from '../../src/access/write/member/commit-state.js';
import { decideWrite } from '../../src/access/write/member/decide-write.js';
import type { DecidedWrite } from '../../src/access/write/decided-write.js';
import { FhirError } from '../../src/fhir/error.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { ALL, and, refersTo, type Criteria } from '../../src/search/criteria/criteria.js';
import type { SearchQuery } from '../../src/store/store.js';

const NOW = Date.parse('2024-01-02T03:04:05Z');
const FEMALE: Criteria = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'female' } };
const OF_WOMEN: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of: FEMALE };
const OBSERVED: Criteria = { kind: 'has', type: 'Observation', parameter: 'subject', of: ALL };

const rule = (criteria: Criteria): AccessRule => ({ ...unrestrictedRule('test'), criteria });

function caller(rules: { readonly [type: string]: readonly Criteria[] }): MemberCaller {
  return memberCaller({
    project: 'clinic',
    membership: 'm',
    user: 'User/u',
    profile: 'Practitioner/p',
    admin: false,
    superAdmin: false,
    powers: undefined,
    bound: true,
    rules: { model: R4, rulesFor: rulesByType(rules) },
  });
}

function rulesByType(rules: { readonly [type: string]: readonly Criteria[] }): (type: string) => readonly AccessRule[] {
  const made = new Map(Object.entries(rules).map(([type, all]) => [type, all.map(rule)]));
  return (type) => made.get(type) ?? [];
}

/** A commit that has not begun; `stored` is there in version 1, granted by every rule. */
function stateOf(who: MemberCaller, ...stored: readonly AnyResource[]): CommitState {
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
  return { caller: who, strictness: () => false, stored: loaded, written: WrittenResources.none(R4, NOW) };
}

const put = (resource: AnyResource): GuardedWrite => ({
  kind: 'put',
  key: { type: resource.resourceType, id: resource.id! },
  resource,
});

const patient = (gender: string): AnyResource => ({ resourceType: 'Patient', id: 'her', gender }) as AnyResource;
const observation = (id = 'o'): AnyResource =>
  ({ resourceType: 'Observation', id, status: 'final', subject: { reference: 'Patient/her' } }) as AnyResource;

/** Decides with answers to the queries in their order. */
function decided(
  state: CommitState,
  write: GuardedWrite,
  answers: readonly boolean[] = [],
): { readonly decision: DecidedWrite | FhirError; readonly queries: readonly SearchQuery[] } {
  const queries: SearchQuery[] = [];
  const deciding = decideWrite(state, write, 0);
  try {
    let step = deciding.next();
    while (step.done !== true) {
      queries.push(step.value);
      step = deciding.next(answers[queries.length - 1]!);
    }
    return { decision: step.value, queries };
  } catch (error) {
    if (error instanceof FhirError) return { decision: error, queries };
    throw error;
  }
}

const expectDecided = (decision: DecidedWrite | FhirError): DecidedWrite => {
  if (decision instanceof FhirError) throw decision;
  return decision;
};

describe('a decision rests on its state and on the answers to its queries', () => {
  const who = caller({ Observation: [OF_WOMEN] });
  const state = stateOf(who, observation());
  const query = {
    project: 'clinic',
    type: 'Patient',
    criteria: and([{ kind: 'id', ids: ['her'] }, FEMALE]),
  };

  test('granted, it holds the write, its checks and the next state', () => {
    const { decision, queries } = decided(state, put(observation()), [true, true]);
    expect(queries).toEqual([query, query]);
    const { ready, state: next } = expectDecided(decision);
    expect(ready.map(({ role }) => role)).toEqual(['added', 'own', 'added']);
    expect(ready[1]).toMatchObject({ from: 0, unreadable: false, write: { kind: 'put', expect: { version: '1' } } });
    expect(next.written.get('Observation', 'o')).toMatchObject({ meta: { project: 'clinic' } });
    expect(state.written.isEmpty).toBe(true);
  });

  test('the same answers give the same decision', () => {
    const [first, second] = [0, 1].map(() => decided(state, put(observation()), [true, false]));
    expect(second).toEqual(first);
    const { ready } = expectDecided(first!.decision);
    expect(ready[1]).toMatchObject({ unreadable: true });
  });

  test('other answers deny it', () => {
    const { decision, queries } = decided(state, put(observation()), [false]);
    expect(queries).toEqual([query]);
    expect(decision).toMatchObject({ code: 'forbidden', message: expect.stringContaining('access policy grants') });
  });

  test('a rule without chains needs no query', () => {
    const open = stateOf(caller({ Observation: [ALL] }), observation());
    expect(decided(open, put(observation())).queries).toEqual([]);
    expect(expectDecided(decided(open, put(observation())).decision).ready.map(({ role }) => role)).toEqual(['own']);
  });
});

describe('a decision sees what earlier writes of the commit make of resources', () => {
  const who = caller({ Patient: [ALL], Observation: [OF_WOMEN] });

  test('a chain leads to the resource as it was written', () => {
    const state = stateOf(who, patient('male'), observation());
    const { state: next } = expectDecided(decided(state, put(patient('female'))).decision);
    const { decision, queries } = decided(next, put(observation()));
    expect(queries).toEqual([]);
    expect(expectDecided(decision).ready).toHaveLength(3);
  });

  test('which may take away what was granted', () => {
    const state = stateOf(who, patient('female'), observation());
    const { state: next } = expectDecided(decided(state, put(patient('male'))).decision);
    expect(decided(next, put(observation())).decision).toMatchObject({ code: 'not-found' });
    const deletion: GuardedWrite = { kind: 'delete', key: { type: 'Patient', id: 'her' } };
    const { state: without } = expectDecided(decided(state, deletion).decision);
    expect(decided(without, put(observation())).decision).toMatchObject({ code: 'not-found' });
  });

  test('a stored version that was replaced is left out of the query for reverse references', () => {
    const related = caller({ Patient: [OBSERVED], Observation: [ALL] });
    const state = stateOf(related, patient('female'), observation());
    const moved = { ...observation(), subject: { reference: 'Patient/other' } } as AnyResource;
    const { state: next } = expectDecided(decided(state, put(moved)).decision);
    const { queries } = decided(next, put(patient('female')), [false, false]);
    expect(queries[0]).toEqual({
      project: 'clinic',
      type: 'Observation',
      criteria: and([
        refersTo('subject', { type: 'Patient', id: 'her' }),
        { kind: 'not', of: { kind: 'id', ids: ['o'] } },
      ]),
    });
  });

  test('a deletion of what does not exist changes nothing', () => {
    const state = stateOf(who);
    const deletion: GuardedWrite = { kind: 'delete', key: { type: 'Patient', id: 'nobody' } };
    expect(expectDecided(decided(state, deletion).decision)).toEqual({
      ready: [{ role: 'unchanged', from: 0, answer: { kind: 'delete', versionId: null } }],
      state,
    });
    expect(decided(state, { ...deletion, mustExist: true }).decision).toMatchObject({ code: 'not-found' });
  });
});
