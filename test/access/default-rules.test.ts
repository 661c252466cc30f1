import { describe, expect, test } from 'vitest';
import {
  administratorRules,
  defaultRules,
  joinRules,
  OPERATORS_FIELDS,
  ownPlaceRules,
  ownUserRules,
  MEMBER_USERS,
} from '../../src/access/policy/default-rules.js';
import { ALL_INTERACTIONS, READ_INTERACTIONS, unrestrictedRule, type AccessRules } from '../../src/access/rule.js';
import { R4 } from '../../src/store.js';
import { ALL } from '../../src/search/criteria/criteria.js';

/** The rules of a type, without empty parts for explanations. */
function of(rules: AccessRules, type: string): unknown[] {
  return rules.rulesFor(type).map(({ origin, interactions, ...rest }) => {
    expect(origin.policy).toBeUndefined();
    expect(rest.writeConstraints).toEqual([]);
    return { text: origin.text, interactions: [...interactions], criteria: rest.criteria, hidden: rest.hidden, readonly: rest.readonlyFields }; // prettier-ignore
  });
}

const ADMINISTRATIVE = ['AccessPolicy', 'Login', 'Project', 'ProjectMembership', 'User'];

describe('without a policy', () => {
  test.each(['Practitioner', 'ClientApplication', 'Bot'])('a %s can do everything except administer', (profile) => {
    const rules = defaultRules(R4, profile, undefined);
    const text = `default for ${profile}: the project`;
    const whole = { text, interactions: ALL_INTERACTIONS, criteria: ALL, readonly: [] };
    expect(of(rules, 'Observation')).toEqual([{ ...whole, hidden: [] }]);
    expect(of(rules, 'SmartHealthLink')).toEqual([{ ...whole, hidden: ['passcodeHash'] }]);
    for (const type of [...ADMINISTRATIVE, 'Nonsense']) expect(of(rules, type), type).toEqual([]);
  });

  test.each(['Patient', 'RelatedPerson'])('a %s reads the compartment of its patient', (profile) => {
    const rules = defaultRules(R4, profile, '1');
    const text = `default for ${profile}: the compartment of Patient/1`;
    const read = { text, interactions: READ_INTERACTIONS, hidden: [], readonly: [] };
    expect(of(rules, 'Patient')).toEqual([{ ...read, criteria: { kind: 'id', ids: ['1'] } }]);
    expect(of(rules, 'Encounter')).toEqual([
      {
        ...read,
        criteria: { kind: 'match', parameter: 'subject', test: { kind: 'reference', types: ['Patient'], id: '1' } },
      },
    ]);
    for (const type of [...ADMINISTRATIVE, 'Organization', 'Nonsense']) expect(of(rules, type), type).toEqual([]);
    const nobody = defaultRules(R4, profile, undefined);
    expect(R4.resourceTypes.flatMap((type) => of(nobody, type))).toEqual([]);
  });

  test('rules are created once per type', () => {
    const rules = defaultRules(R4, 'Practitioner', undefined);
    expect(rules.rulesFor('Observation')).toBe(rules.rulesFor('Observation'));
    let made = 0;
    const source: AccessRules = { model: R4, rulesFor: (type) => ((made += 1), [unrestrictedRule(type)]) };
    const joined = joinRules(R4, [source, defaultRules(R4, 'Practitioner', undefined), source]);
    expect(joined.rulesFor('Patient').map(({ origin }) => origin.text)).toEqual([
      'Patient',
      'default for Practitioner: the project',
      'Patient',
    ]);
    joined.rulesFor('Patient');
    expect(made).toBe(2);
    expect(joined.rulesFor('Nonsense')).toEqual([]);
    expect(made).toBe(2);
  });
});

describe('the own User', () => {
  test('can be seen and changed, except for the elements that others rely on', () => {
    const open = ['contained', 'extension', 'firstName', 'id', 'language', 'lastName', 'meta', 'modifierExtension', 'text']; // prettier-ignore
    const closed = [...R4.typeDefinition('User')!.elements.keys()].filter((name) => !open.includes(name));
    expect(of(ownUserRules(R4, 'User/1'), 'User')).toEqual([
      {
        text: 'the own User',
        interactions: [...READ_INTERACTIONS, 'update'],
        criteria: { kind: 'id', ids: ['1'] },
        hidden: ['passwordHash', 'mfaSecret'],
        readonly: [...closed, 'status'],
      },
    ]);
  });

  test('does not include other resources, nor anything of programs', () => {
    expect(of(ownUserRules(R4, 'User/1'), 'Patient')).toEqual([]);
    expect(of(ownUserRules(R4, 'ClientApplication/1'), 'User')).toEqual([]);
    expect(of(ownUserRules(R4, 'ClientApplication/1'), 'ClientApplication')).toEqual([]);
  });
});

describe.each([
  ['an administrator of a project', false],
  ['a super administrator whom policies bind', true],
])('%s', (_, bound) => {
  // Created inside each test, so that the test itself runs the code that creates them.
  const rulesOf = (type: string): unknown[] => of(administratorRules(R4, 'clinic', bound), type);
  const reads = { text: 'project administrator', interactions: READ_INTERACTIONS, criteria: ALL, hidden: [], readonly: [] }; // prettier-ignore
  const writes = (...more: string[]): readonly string[] => [...READ_INTERACTIONS, ...(bound ? [] : more)];

  test('has the policies', () => {
    const interactions = writes('create', 'update', 'delete');
    expect(rulesOf('AccessPolicy')).toEqual([{ ...reads, interactions }]);
  });

  test('reads the members and the programs', () => {
    expect(rulesOf('ProjectMembership')).toEqual([reads]);
    expect(rulesOf('Bot')).toEqual([reads]);
    const secrets = ['secret', 'retiringSecret', 'identityProvider.clientSecret', 'identityProvider.userInfoApiKey'];
    expect(rulesOf('ClientApplication')).toEqual([{ ...reads, hidden: secrets }]);
    const text = 'project administrator: members of the project';
    expect(rulesOf('User')).toEqual([
      { ...reads, text, criteria: MEMBER_USERS, hidden: ['passwordHash', 'mfaSecret'] },
    ]);
  });

  test("has the own project except for the operator's elements", () => {
    expect(rulesOf('Project')).toEqual([
      {
        text: 'project administrator: the own project',
        interactions: writes('update'),
        criteria: { kind: 'id', ids: ['clinic'] },
        hidden: ['secret', 'systemSecret', 'site.googleClientSecret', 'site.recaptchaSecretKey'],
        readonly: OPERATORS_FIELDS,
      },
    ]);
    expect(OPERATORS_FIELDS).toEqual(['active', 'features', 'link', 'owner', 'strictMode', 'superAdmin', 'systemSetting']); // prettier-ignore
  });

  test('changes policies and the project unless a policy says otherwise', () => {
    const full = administratorRules(R4, 'clinic', false);
    for (const type of ['AccessPolicy', 'Project']) {
      expect(of(administratorRules(R4, 'clinic'), type)).toEqual(of(full, type));
    }
  });

  test('has nothing more', () => {
    for (const type of ['Patient', 'Login', 'JsonWebKey', 'Nonsense']) expect(rulesOf(type), type).toEqual([]);
  });
});

test('the own membership and the own project do not show how access is decided', () => {
  const rules = ownPlaceRules(R4, 'clinic', 'm');
  const place = (text: string, id: string): object => {
    return { text, interactions: READ_INTERACTIONS, criteria: { kind: 'id', ids: [id] }, readonly: [] };
  };
  expect(of(rules, 'Project')).toMatchObject([place('the own project', 'clinic')]);
  expect(of(rules, 'ProjectMembership')).toMatchObject([place('the own membership', 'm')]);
  expect(of(rules, 'AccessPolicy')).toEqual([]);
  const shownOf = (type: string): string[] => {
    const { hidden } = rules.rulesFor(type)[0]!;
    return [...R4.typeDefinition(type)!.elements.keys()].filter((name) => !hidden.includes(name));
  };
  expect(shownOf('Project').toSorted()).toEqual(['active', 'description', 'id', 'identifier', 'meta', 'name']);
  for (const name of ['access', 'accessPolicy']) expect(shownOf('ProjectMembership')).not.toContain(name);
});
