import { describe, expect, test } from 'vitest';
import { type Caller, type Interaction, serverCaller, systemCaller } from '../../src/index.js';
import type { Criteria } from '../../src/store.js';
import { decide, isUnrestricted } from '../../src/access/decide.js';
import {
  coveredByWildcard,
  isAdministrative,
  isClientType,
  isProtected,
} from '../../src/access/fields/administrative-types.js';
import { OPERATORS_FIELDS } from '../../src/access/policy/default-rules.js';
import { ruleInteractions } from '../../src/access/policy/policy-grant.js';
import { ALL_INTERACTIONS, READ_INTERACTIONS, unrestrictedRule, type AccessRule } from '../../src/access/rule.js';
import { secretFields } from '../../src/fhir/resource.js';

const SOME: Criteria = { kind: 'id', ids: ['a'] };
const rule = (more: Partial<AccessRule> = {}): AccessRule => ({ ...unrestrictedRule('rule'), ...more });
/** A member with the same rules for every type, however a policy could have given them. */
const memberWith = (...rules: readonly AccessRule[]): Caller =>
  ({ kind: 'member', project: 'clinic', rules: { rulesFor: () => rules } }) as unknown as Caller;

test('an unrestricted rule grants everything, and hides the given fields', () => {
  const all = { interactions: new Set(ALL_INTERACTIONS), criteria: { kind: 'all' }, readonlyFields: [], writeConstraints: [] }; // prettier-ignore
  const origin = { policy: undefined, text: 'text' };
  expect(unrestrictedRule('text')).toEqual({ ...all, origin, hidden: [] });
  expect(unrestrictedRule('text', ['name'])).toEqual({ ...all, origin, hidden: ['name'] });
});

describe('for a member', () => {
  test('uses the rules of the type that grant the interaction, or null without any', () => {
    const reads = rule({ interactions: new Set(['read', 'search']) });
    const writes = rule({ interactions: new Set(['update']) });
    const caller = memberWith(reads, writes);
    expect(decide(caller, 'Patient', 'read')).toEqual([reads]);
    expect(decide(caller, 'Patient', 'update')).toEqual([writes]);
    expect(decide(caller, 'Patient', 'delete')).toBeNull();
    expect(decide(memberWith(), 'Patient', 'read')).toBeNull();
  });

  test.each(['DomainConfiguration', 'Enterprise', 'JsonWebKey', 'Login'])('has no rule for a %s', (type) => {
    for (const interaction of ALL_INTERACTIONS) expect(decide(memberWith(rule()), type, interaction)).toBeNull();
  });

  test.each(['Bot', 'ClientApplication'])('has no rule that writes a %s, and rules that read it', (type) => {
    for (const interaction of ALL_INTERACTIONS) {
      const decided = decide(memberWith(rule()), type, interaction);
      expect([interaction, decided === null]).toEqual([interaction, !READ_INTERACTIONS.includes(interaction)]);
    }
  });
});

describe('trusted code', () => {
  const hiddenFrom = (caller: Caller, type: string, interaction: Interaction = 'read'): unknown =>
    decide(caller, type, interaction)?.map(({ origin, hidden }) => [origin.text, hidden]);

  test('has everything in its project except secrets', () => {
    for (const caller of [systemCaller('clinic'), serverCaller('clinic')]) {
      for (const interaction of ALL_INTERACTIONS) {
        expect(hiddenFrom(caller, 'Patient', interaction)).toEqual([['trusted code', []]]);
        expect(hiddenFrom(caller, 'ClientApplication', interaction)).toEqual([
          ['trusted code', secretFields('ClientApplication')],
        ]);
      }
    }
  });

  test("of a project changes the project itself like its administrators, except for the operator's elements", () => {
    expect(decide(systemCaller('clinic'), 'Project', 'update')).toMatchObject([
      { criteria: { kind: 'id', ids: ['clinic'] }, readonlyFields: OPERATORS_FIELDS },
    ]);
    expect(decide(systemCaller('clinic'), 'Project', 'delete')).toEqual([]);
  });

  test('of a project reads above projects what its administrators read, and writes none of it', () => {
    const caller = systemCaller('clinic');
    for (const interaction of READ_INTERACTIONS) expect(decide(caller, 'User', interaction)).not.toHaveLength(0);
    for (const interaction of ['create', 'delete'] as const) expect(decide(caller, 'User', interaction)).toEqual([]);
    // The rules of a caller are made once.
    expect(decide(caller, 'User', 'read')![0]).toBe(decide(caller, 'User', 'read')![0]);
    expect(hiddenFrom(serverCaller('clinic'), 'User', 'update')).toEqual([['trusted code', secretFields('User')]]);
  });
});

test('code above all projects has everything above them, and nothing inside a project', () => {
  const caller = serverCaller();
  for (const interaction of ALL_INTERACTIONS) {
    expect(decide(caller, 'Patient', interaction)).toBeNull();
    expect(decide(caller, 'Project', interaction)).toHaveLength(1);
  }
});

test.each<[readonly AccessRule[], boolean]>([
  [[], false],
  [[rule()], true],
  [[rule({ criteria: SOME })], false],
  [[rule({ hidden: ['name'] })], false],
  [[rule({ criteria: SOME, hidden: ['name'] })], false],
  [[rule({ criteria: SOME }), rule({ hidden: ['name'] })], false],
  [[rule({ criteria: SOME }), rule()], true],
])('rules %# grant everything: %s', (rules, unrestricted) => {
  expect(isUnrestricted(rules)).toBe(unrestricted);
});

test.each([
  ['Patient', { wildcard: true, administrative: false, locked: false, program: false }],
  ['UserConfiguration', { wildcard: true, administrative: true, locked: false, program: false }],
  ['ClientApplication', { wildcard: true, administrative: true, locked: false, program: true }],
  ['Bot', { wildcard: true, administrative: true, locked: false, program: true }],
  ['User', { wildcard: false, administrative: true, locked: false, program: false }],
  ['Project', { wildcard: false, administrative: true, locked: false, program: false }],
  ['ProjectMembership', { wildcard: false, administrative: true, locked: false, program: false }],
  ['AccessPolicy', { wildcard: false, administrative: true, locked: false, program: false }],
  ['Login', { wildcard: false, administrative: false, locked: true, program: false }],
  ['JsonWebKey', { wildcard: false, administrative: false, locked: true, program: false }],
])('%s is %j', (type, expected) => {
  expect({
    wildcard: coveredByWildcard(type),
    administrative: isAdministrative(type),
    locked: isProtected(type),
    program: isClientType(type),
  }).toEqual(expected);
});

test('types without secrets have no secret fields', () => {
  expect([secretFields('Patient'), secretFields('toString')]).toEqual([[], []]);
});

test.each<[object, readonly string[]]>([
  [{}, ALL_INTERACTIONS],
  [{ readonly: false }, ALL_INTERACTIONS],
  [{ readonly: true }, READ_INTERACTIONS],
  [{ interaction: ['read'] }, ['read']],
  [{ interaction: [] }, []],
  [{ readonly: true, interaction: ['update'] }, READ_INTERACTIONS],
  [{ readonly: 'true' }, []],
  [{ readonly: 'false', interaction: ['read'] }, []],
  [{ readonly: null }, []],
  [{ interaction: 'read' }, []],
  [{ interaction: { every: 1 } }, []],
  [{ interaction: null }, []],
  [{ interaction: ['read', 'fly'] }, []],
  [{ interaction: ['fly', 'read'] }, []],
  [{ interaction: [7] }, []],
])('a rule with %j grants %j', (written, granted) => {
  expect(ruleInteractions(written as never)).toEqual(granted);
});
