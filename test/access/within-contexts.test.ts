import { type Criteria, R4 } from '../../src/store.js';
import { expect, test } from 'vitest';
import { withinContexts } from '../../src/access/caller.js';
import { unrestrictedRule, type AccessRule, type AccessRules } from '../../src/access/rule.js';
import { ALL, and, not, or } from '../../src/search/criteria/criteria.js';

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

test('a Binary without context, or with a context that some rule lets read, is within each rule for Binary', () => {
  const asked: string[] = [];
  const own: { readonly [type: string]: readonly AccessRule[] } = {
    Binary: [rule(id('b'), { hidden: ['data'] }), rule(ALL, { interactions: new Set(['create']) })],
    Observation: [rule(id('o')), rule(id('p')), rule(ALL, { interactions: new Set(['search', 'vread']) })],
    Patient: [rule(ALL)],
    Encounter: [rule(ALL, { interactions: new Set(['create', 'history']) })],
    // Above projects, or without a project: never a context.
    User: [rule(ALL)],
    Project: [rule(ALL)],
    Login: [rule(ALL)],
  };
  const rules: AccessRules = {
    model: R4,
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

test('without a rule for Binary no Binary is accessible, whatever else can be read', () => {
  const asked: string[] = [];
  const rules: AccessRules = {
    model: R4,
    rulesFor: (type) => (asked.push(type), type === 'Binary' ? [] : [rule(ALL)]),
  };
  expect(withinContexts(rules).rulesFor('Binary')).toEqual([]);
  expect(asked).toEqual(['Binary']);
});

test('the condition of a context is combined with the other conditions of a rule', () => {
  const own = { text: 'b', criteria: id('b'), missing: ['x'] };
  const rules: AccessRules = {
    model: R4,
    rulesFor: (type) => (type === 'Binary' ? [rule(id('b'), { conditions: [own] })] : []),
  };
  const readable = or([WITHOUT, contextOf('Binary', and([id('b'), WITHOUT]))]);
  const text = 'the securityContext, where there is one, can be read';
  expect(withinContexts(rules).rulesFor('Binary')[0]!.conditions).toEqual([
    own,
    { text, criteria: readable, missing: [] },
  ]);
});

test('rules that cost too much together are refused before all types are compiled', () => {
  const asked = new Set<string>();
  const costly = Array.from({ length: 500 }, (_, n) =>
    not({ kind: 'match', parameter: 'identifier', test: { kind: 'token', code: `${n}` } }),
  );
  const rules: AccessRules = { model: R4, rulesFor: (type) => (asked.add(type), [rule(and(costly))]) };
  expect(() => withinContexts(rules).rulesFor('Binary')).toThrow(expect.objectContaining({ code: 'too-costly' }));
  // Ten types, and Binary, whose rules were asked for first.
  expect(asked.size).toBeGreaterThan(2);
  expect(asked.size).toBeLessThan(12);
  const last = R4.resourceTypes.at(-1)!;
  const single: AccessRules = {
    model: R4,
    rulesFor: (type) => (type === 'Binary' ? [rule(id('b'))] : type === last ? [rule(and(costly))] : []), // prettier-ignore
  };
  expect(() => withinContexts(single).rulesFor('Binary')).toThrow(expect.objectContaining({ code: 'too-costly' }));
});
