import { expect, test } from 'vitest';
import { withinContexts } from '../../src/access/policy/binary-context.js';
import { unrestrictedRule, type AccessRule, type AccessRules } from '../../src/access/rule.js';
import { ALL, and, or, type Criteria } from '../../src/search/criteria/criteria.js';

const WITHOUT: Criteria = {
  kind: 'match',
  parameter: 'has-security-context',
  test: { kind: 'token', code: 'false' },
};
const id = (value: string): Criteria => ({ kind: 'id', ids: [value] });
const contextOf = (type: string, of: Criteria): Criteria => ({
  kind: 'chain',
  parameter: 'security-context',
  type,
  of,
});

function rule(criteria: Criteria, more: Partial<AccessRule> = {}): AccessRule {
  return { ...unrestrictedRule('test'), criteria, ...more };
}

test('a Binary without context, or with one that some rule lets read, is within each rule for Binary', () => {
  const asked: string[] = [];
  const own: { readonly [type: string]: readonly AccessRule[] } = {
    Binary: [rule(id('b'), { hidden: ['data'] }), rule(ALL, { interactions: new Set(['create']) })],
    Observation: [rule(id('o')), rule(id('p')), rule(ALL, { interactions: new Set(['search', 'vread']) })],
    Patient: [rule(ALL)],
    Encounter: [rule(ALL, { interactions: new Set(['create', 'history']) })],
    // Above projects, or no one's: never a context.
    User: [rule(ALL)],
    Project: [rule(ALL)],
    Login: [rule(ALL)],
  };
  const rules: AccessRules = {
    rulesFor: (type) => {
      asked.push(type);
      return own[type] ?? [];
    },
  };
  const bound = withinContexts(rules);
  const readable = or([
    WITHOUT,
    contextOf('Binary', and([id('b'), WITHOUT])),
    contextOf('Observation', or([id('o'), id('p')])),
    contextOf('Patient', ALL),
  ]);
  expect(bound.rulesFor('Binary')).toEqual([
    { ...own['Binary']![0]!, criteria: and([id('b'), readable]) },
    { ...own['Binary']![1]!, criteria: readable },
  ]);
  const count = asked.length;
  expect(bound.rulesFor('Binary')).toBe(bound.rulesFor('Binary'));
  expect(asked).toHaveLength(count);
  expect(bound.rulesFor('Patient')).toBe(own['Patient']);
});

test('without a rule for Binary there is none, whatever else may be read', () => {
  const asked: string[] = [];
  const rules: AccessRules = { rulesFor: (type) => (asked.push(type), type === 'Binary' ? [] : [rule(ALL)]) };
  expect(withinContexts(rules).rulesFor('Binary')).toEqual([]);
  expect(asked).toEqual(['Binary']);
});
