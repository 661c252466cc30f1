import { beforeAll, describe, expect, test } from 'vitest';
import type { GuardedWrite } from '../../src/access/contract.js';
import { type AnyResource, FhirError, type Interaction } from '../../src/index.js';
import type { AccessRule } from '../../src/access/rule.js';
import type { CommitState } from '../../src/access/write/commit-state.js';
import { forbidden } from '../../src/access/write/decide-member.js';
import { loadFhirPath } from '../../src/fhirpath/library.js';
import { ALL, NONE } from '../../src/search/criteria/criteria.js';
import {
  caller,
  decided,
  expectDecided,
  FEMALE,
  observation,
  OF_WOMEN,
  patient,
  put,
  rule,
  stateOf,
} from './decisions.js';

beforeAll(() => loadFhirPath());

const HER = { type: 'Patient', id: 'her' };
const WOMAN = patient('female');
const deletion = (more: object = {}): GuardedWrite => ({ kind: 'delete', key: HER, ...more });
const update = (more: object = {}): GuardedWrite => ({ ...put(WOMAN), ...more });
const may = (...interactions: readonly Interaction[]): AccessRule => rule(ALL, ...interactions);
const over = (...rules: readonly AccessRule[]): CommitState => stateOf(caller({ Patient: rules }));
/** With her stored, granted by every rule. */
const overHer = (...rules: readonly AccessRule[]): CommitState => stateOf(caller({ Patient: rules }), WOMAN);

/** The code and the message of a refusal. */
function refused(state: CommitState, write: GuardedWrite): string {
  const { decision } = decided(state, write);
  return decision instanceof FhirError ? `${decision.code}: ${decision.message}` : 'decided';
}

describe('a write is refused', () => {
  const FROM_SERVER = 'not-found: Patient/her was not found; a new one gets its id from the server';
  test.each<[string, CommitState, GuardedWrite, string]>([
    ['an update without any rule', over(), update(), 'forbidden: Not allowed to update Patient'],
    [
      'a creation without any rule',
      over(),
      update({ expect: { version: null } }),
      'forbidden: Not allowed to create Patient',
    ],
    [
      'a creation by who may update alone',
      over(may('update')),
      update({ expect: { version: null } }),
      'forbidden: Not allowed to create Patient',
    ],
    [
      'an update by a caller that can only read',
      overHer(may('read')),
      update(),
      'forbidden: Not allowed to update Patient',
    ],
    ['an update of nothing', over(may('update')), update(), 'not-found: Patient/her was not found'],
    [
      'an update of nothing by who reads everything',
      over(may('read', 'update')),
      update(),
      'not-found: Patient/her was not found',
    ],
    [
      'an update of a version of nothing',
      over(may('update', 'create')),
      update({ expect: { version: '3' } }),
      'precondition-failed: Patient/her was expected at version 3, but it does not exist',
    ],
    ['an id chosen by a caller that does not read the whole type', over(rule(FEMALE)), update(), FROM_SERVER],
    [
      'an update of another version',
      overHer(may('read', 'update')),
      update({ expect: { version: '2' } }),
      'precondition-failed: Patient/her was expected at version 2, but it is at version 1',
    ],
    ['a deletion without any rule', over(), deletion(), 'forbidden: Not allowed to delete Patient'],
    [
      'a deletion by who reads alone',
      overHer(may('read')),
      deletion({ mustExist: true }),
      'forbidden: Not allowed to delete Patient',
    ],
    [
      'a deletion of nothing',
      over(may('delete')),
      deletion({ mustExist: true }),
      'not-found: Patient/her was not found',
    ],
    [
      'a deletion of a version of nothing',
      over(may('delete')),
      deletion({ expect: { version: '3' } }),
      'precondition-failed: Patient/her was expected at version 3, but it does not exist',
    ],
  ])('%s', (_, state, write, message) => {
    expect(refused(state, write)).toBe(message);
  });

  test('under a new id that a hidden resource has', () => {
    const [mayCreate, mayRead] = [may('create'), may('read', 'update')];
    const state = overHer(mayCreate, mayRead);
    const hidden = { ...state.stored.granted.get('Patient/her')!, rules: new Set<AccessRule>() };
    const stored = { ...state.stored, granted: new Map([['Patient/her', hidden]]) };
    for (const generatedId of [true, false]) {
      expect(refused({ ...state, stored }, update({ generatedId }))).toBe(FROM_SERVER);
    }
    expect(refused({ ...state, stored }, deletion())).toBe('forbidden: Not allowed to delete Patient');
  });

  test('by a rule that grants deletions of other resources', () => {
    const [mayRead, mayDelete] = [may('read'), may('delete')];
    const state = overHer(mayRead, mayDelete);
    const granted = { ...state.stored.granted.get('Patient/her')!, rules: new Set([mayRead]) };
    const stored = { ...state.stored, granted: new Map([['Patient/her', granted]]) };
    expect(refused({ ...state, stored }, deletion())).toBe('forbidden: Not allowed to delete Patient');
  });

  test.each<[string, string, boolean]>([
    ['the same before and after', '%before.gender = %after.gender', true],
    ['nothing before', '%before.empty()', false],
    ['nothing that is true', '%after.birthDate', false],
    ['twice true', '%after.name.select(true)', false],
  ])('by a write constraint that finds %s: %s', (_, expression, holds) => {
    const state = overHer({ ...may(), writeConstraints: [expression] });
    const named = { ...WOMAN, name: [{ family: 'A' }, { family: 'B' }] } as AnyResource;
    expect(refused(state, put(named))).toBe(
      holds ? 'decided' : 'forbidden: A write constraint of the access policy does not hold for this Patient',
    );
  });

  test('by a write constraint about the stored version, if there is none', () => {
    const made = (expression: string): string =>
      refused(over({ ...may(), writeConstraints: [expression] }), update({ generatedId: true }));
    expect(made('%before.empty()')).toBe('decided');
    expect(made('%before.exists()')).toContain('forbidden');
  });

  test('as an invalid policy', () => {
    const state = stateOf(caller({ AccessPolicy: [ALL] }));
    const policy = { resourceType: 'AccessPolicy', id: 'x', resource: [{ resourceType: 'Nothing' }] } as AnyResource;
    expect(decided(state, put(policy)).decision).toMatchObject({ code: 'policy-invalid' });
  });

  test.each<[string, Interaction, string]>([
    ['Bot', 'create', ''],
    ['ClientApplication', 'update', ''],
    [
      'ProjectMembership',
      'delete',
      '; use POST /admin/projects/[project]/invite, or PATCH or DELETE of …/members/[membership]',
    ],
    ['Project', 'create', '; use POST Project'],
    ['Project', 'update', ''],
    ['Patient', 'create', ''],
  ])('and the error names the operation for it, if there is one: %s, %s', (type, interaction, hint) => {
    expect(forbidden(type, interaction)).toMatchObject({
      code: 'forbidden',
      message: `Not allowed to ${interaction} ${type}${hint}`,
    });
  });
});

describe('the commit of a decided write', () => {
  const key = { type: 'Observation', id: 'o', project: 'clinic' };
  const remove: GuardedWrite = { kind: 'delete', key: { type: 'Observation', id: 'o' } };

  test('deletes the version that was decided on', () => {
    const state = stateOf(caller({ Observation: [OF_WOMEN, ALL] }), observation());
    const { decision, queries } = decided(state, remove);
    expect(queries).toEqual([]);
    expect(expectDecided(decision).ready).toEqual([
      { role: 'own', write: { kind: 'delete', key, expect: { version: '1' } }, from: 0, readRules: [] },
    ]);
  });

  test('checks a creation that a chain grants after it is written', () => {
    const state = stateOf(caller({ Observation: [OF_WOMEN] }));
    const { decision } = decided(state, { ...put(observation()), generatedId: true } as GuardedWrite, [true, true]);
    expect(expectDecided(decision).ready.map(({ role }) => role)).toEqual(['own', 'added']);
  });

  test('leaves a version that the caller demands after an earlier write of its own to the store', () => {
    const expected = { version: '7' };
    const { state } = expectDecided(decided(overHer(may()), update()).decision);
    const { ready } = expectDecided(decided(state, update({ expect: expected })).decision);
    expect(ready).toMatchObject([{ role: 'own', write: { expect: expected } }]);
    expect(expectDecided(decided(state, update()).decision).ready).toMatchObject([{ write: { expect: undefined } }]);
  });

  test('limits an assertion to resources that the caller can search', () => {
    const query = { type: 'Patient', criteria: FEMALE };
    const asked = (...rules: readonly AccessRule[]): unknown =>
      expectDecided(decided(over(...rules), { kind: 'assert-no-match', query }).decision).ready;
    const assertion = (criteria: unknown): unknown => [
      {
        role: 'own',
        write: { kind: 'assert-no-match', query: { project: 'clinic', type: 'Patient', criteria } },
        from: 0,
        readRules: [],
      },
    ];
    expect(asked(may())).toEqual(assertion(FEMALE));
    expect(asked(may('read', 'update'))).toEqual(assertion(NONE));
    expect(asked()).toEqual(assertion(NONE));
  });
});
