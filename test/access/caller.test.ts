import { FhirError, serverCaller, systemCaller } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { describe, expect, test } from 'vitest';
import { assertCaller, assertNotEnded, derivedCaller, isCaller, memberCaller } from '../../src/access/caller.js';
import { unrestrictedRule } from '../../src/access/rule.js';

describe('trusted code', () => {
  test.each(['clinic', 'Project/clinic', { reference: 'Project/clinic' }])(
    'has %j as the name of its project',
    (project) => {
      expect(systemCaller(project)).toEqual({ kind: 'system', project: 'clinic' });
      expect(serverCaller(project)).toEqual({ kind: 'server', project: 'clinic' });
    },
  );

  test('above projects has no project', () => {
    expect(serverCaller()).toEqual({ kind: 'server', project: '' });
  });

  test.each(['', 'Patient/1', 'a b', {}, { reference: 'Patient/1' }])('is refused with %j for a project', (project) => {
    const refused = (message: string) => expect.objectContaining({ code: 'invalid', message }) as Error;
    expect(() => systemCaller(project)).toThrow(refused('systemCaller needs the id of a project'));
    expect(() => serverCaller(project)).toThrow(refused('serverCaller needs the id of a project, or nothing'));
  });
});

describe('only callers that this library created are callers', () => {
  const HINT = 'pass the result of signIn; trusted code passes systemCaller(project) or serverCaller()';
  test.each([
    [undefined, 'No caller given'],
    [null, 'Not a caller'],
    ['system', 'Not a caller'],
    [{ kind: 'system', project: 'clinic' }, 'Not a caller'],
    [{ ...systemCaller('clinic') }, 'Not a caller'],
    [Object.create(systemCaller('clinic')), 'Not a caller'],
  ])('%j is not a caller', (value: unknown, message) => {
    expect(isCaller(value)).toBe(false);
    expect(() => assertCaller(value)).toThrow(new FhirError('unauthenticated', `${message}; ${HINT}`));
    expect(() => assertCaller(value)).toThrow(expect.objectContaining({ code: 'unauthenticated' }) as Error);
  });

  test('a caller cannot be changed', () => {
    for (const caller of [systemCaller('clinic'), serverCaller()]) {
      expect(isCaller(caller)).toBe(true);
      expect(() => assertCaller(caller)).not.toThrow();
      expect(Object.isFrozen(caller)).toBe(true);
      expect(() => Object.assign(caller, { project: 'other' })).toThrow(TypeError);
    }
  });
});

test('a member is the identity that sign-in found, with rules limited to the contexts of Binaries', () => {
  const facts = {
    project: 'clinic',
    membership: 'm',
    user: 'User/1',
    profile: 'Practitioner/1',
    admin: false,
    superAdmin: false,
    powers: undefined,
    bound: true,
  };
  const rule = unrestrictedRule('all');
  const caller = memberCaller({
    ...facts,
    rules: { model: R4, rulesFor: (type) => (type === 'Device' ? [] : [rule]) },
  });
  const { rules, ...others } = caller;
  expect(others).toEqual({ kind: 'member', ...facts });
  expect(rules.rulesFor('Patient')).toEqual([rule]);
  expect(rules.rulesFor('Device')).toEqual([]);
  expect(rules.rulesFor('Binary')).not.toEqual([rule]);
  expect(isCaller(caller)).toBe(true);
});

test('a caller derived from another is limited to the contexts of Binaries once, and ends when the other ends', () => {
  const rule = unrestrictedRule('all');
  const time = { now: Date.parse('2030-01-01T00:00:00Z') };
  const facts = {
    ...{ project: 'clinic', membership: 'm', user: 'User/1', profile: 'Practitioner/1', admin: false },
    ...{ superAdmin: false, powers: undefined, bound: true, patient: undefined },
    emergency: { reason: 'x', until: '2030-01-01T01:00:00Z' },
    rules: { model: R4, rulesFor: (type: string) => (type === 'Device' ? [] : [rule]) },
  };
  const caller = memberCaller(facts, () => new Date(time.now));
  let given: unknown;
  const made = derivedCaller(caller, (before) => ((given = before.rules), before));
  expect(given).toBe(facts.rules);
  expect(made.rules.rulesFor('Binary')).toEqual(caller.rules.rulesFor('Binary'));
  for (const one of [caller, made]) {
    time.now = Date.parse('2030-01-01T00:59:59.999Z');
    assertNotEnded(one);
    time.now += 1;
    expect(() => assertNotEnded(one)).toThrow('The emergency access has ended; sign in to continue without it');
  }
  const copy = { ...caller };
  expect(derivedCaller(copy, (before) => before).rules.rulesFor('Patient')).toEqual([rule]);
});
