import { describe, expect, test } from 'vitest';
import { explainAccess } from '../../src/access.js';
import {
  FhirError,
  type Interaction,
  type MemberCaller,
  MemoryStore,
  narrowCaller,
  systemCaller,
} from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { maskResource } from '../../src/access/fields/mask-resource.js';
import { clearanceLimits, patientLimits, scopeLimits, narrowRules } from '../../src/access/narrow/limits.js';
import { ALL_INTERACTIONS, type AccessRule, unrestrictedRule } from '../../src/access/rule.js';
import { ALL, NONE } from '../../src/search/criteria/criteria.js';
import { codeOf, signedIn, system, type Membership } from '../repository/harness.js';

describe('limits', () => {
  test('of a patient leave only types of a compartment', () => {
    const limits = patientLimits(R4, 'ann');
    expect(limits.text).toBe('the compartment of Patient/ann');
    expect(limits.limitsFor('Observation')).toMatchObject([{ text: 'the compartment of Patient/ann' }]);
    for (const type of ['Organization', 'ProjectMembership']) expect(limits.limitsFor(type)).toEqual([]);
  });

  test('of an invalid clearance leave administrative types', () => {
    const limits = clearanceLimits('the clearance', NONE);
    expect(limits.limitsFor('Patient')).toEqual([]);
    expect(limits.limitsFor('ProjectMembership')).toMatchObject([{ criteria: ALL }]);
  });

  test.each([
    'user/Observation.rs?unknown=x',
    'user/Observation.rs?code:in=http://example.org/ValueSet/one',
    'patient/Organization.rs',
    'patient/Organization.rs?name=x',
    'patient/Observation.rs?unknown=x',
  ])('of %s leave nothing', (scope) => {
    const limits = scopeLimits(R4, scope, 'ann');
    for (const type of ['Observation', 'Organization']) expect(limits.limitsFor(type)).toEqual([]);
  });

  test('of scopes without a constraint leave everything', () => {
    expect(scopeLimits(R4, 'user/Observation.rs', undefined).limitsFor('Observation')).toMatchObject([
      { criteria: ALL },
    ]);
  });

  test('of scopes count each scope once, with any separators', () => {
    const scopes = Array.from({ length: 500 }, (_, at) => `user/Patient.r?_id=p${at}`);
    const text = ` \n${scopes.join('  ')}\t${scopes[0]} `;
    expect(scopeLimits(R4, text, undefined).limitsFor('Patient')).toHaveLength(500);
  });

  test.each([new TypeError('broken'), new FhirError('internal', 'broken')])('do not hide faults: %s', (error) => {
    const model = new Proxy(R4, {
      get() {
        throw error;
      },
    });
    const limits = scopeLimits(model, 'user/Observation.rs?status=final', undefined);
    expect(() => limits.limitsFor('Observation')).toThrow(error);
  });
});

async function member(membership?: Membership): Promise<{ store: MemoryStore; caller: MemberCaller }> {
  const store = new MemoryStore();
  await system(store);
  return { store, caller: await signedIn(store, membership) };
}

describe('a narrowed rule', () => {
  test('without interactions is unchanged, so that it still hides its fields', async () => {
    const { caller } = await member({
      rules: [
        { resourceType: 'Patient', interaction: ['read'], criteria: 'Patient?gender=male', hiddenFields: ['name'] },
      ],
    });
    const [before] = caller.rules.rulesFor('Patient');
    const rules = narrowRules(caller.rules, scopeLimits(R4, 'user/Patient.c?active=true', undefined));
    expect(rules.rulesFor('Patient')).toEqual([
      { ...before, interactions: new Set(), narrowed: { text: 'the scopes', from: before!.interactions } },
    ]);
  });

  test('without further criteria keeps its own criteria', async () => {
    const { caller } = await member({ rules: [{ resourceType: 'Patient', criteria: 'Patient?gender=male' }] });
    const [before] = caller.rules.rulesFor('Patient');
    const rules = narrowRules(caller.rules, scopeLimits(R4, 'user/Patient.s', undefined));
    expect(rules.rulesFor('Patient')).toEqual([
      {
        ...before,
        interactions: new Set(['search']),
        origin: { ...before!.origin, text: `${before!.origin.text}, within user/Patient.s` },
        narrowed: { text: 'user/Patient.s', from: before!.interactions },
      },
    ]);
  });

  test('names its own condition and the limit separately', async () => {
    const store = new MemoryStore();
    await system(store);
    const caller = await signedIn(store);
    const [before] = caller.rules.rulesFor('Patient');
    const [limit] = scopeLimits(R4, 'user/Patient.s?active=true', undefined).limitsFor('Patient');
    const [rule] = narrowRules(caller.rules, scopeLimits(R4, limit!.text, undefined)).rulesFor('Patient');
    expect(rule!.conditions).toEqual([
      { text: before!.origin.text, criteria: before!.criteria, missing: [] },
      { text: limit!.text, criteria: limit!.criteria, missing: [] },
    ]);
  });
});

test('a narrowed caller sees no more of a contained resource than before, even if no rule for its type reads any more', async () => {
  const rule = (interactions: readonly Interaction[], hidden: readonly string[]): AccessRule => {
    return { ...unrestrictedRule('a rule', hidden), interactions: new Set(interactions) };
  };
  const patient = [rule(ALL_INTERACTIONS, ['birthDate']), rule(['update'], [])];
  const rules = {
    model: R4,
    rulesFor: (type: string) => (type === 'Patient' ? patient : [rule(ALL_INTERACTIONS, [])]),
  };
  const narrowed = narrowRules(rules, scopeLimits(R4, 'user/Observation.rs', undefined));
  const inner = { resourceType: 'Patient', id: 'inner', birthDate: '1970-01-01', active: true };
  const observation = { resourceType: 'Observation', id: 'o', contained: [inner] };
  for (const all of [rules, narrowed]) {
    const { contained } = maskResource(observation, all.rulesFor('Observation'), all) as typeof observation;
    expect(contained).toEqual([{ resourceType: 'Patient', id: 'inner', active: true }]);
  }
});

test('the explanation of a clearance shows the removed rights', async () => {
  const { store, caller } = await member({ rules: [{ resourceType: 'Patient' }] });
  const system = 'http://terminology.hl7.org/CodeSystem/v3-Confidentiality';
  await store.commit([
    {
      kind: 'put',
      key: { project: 'clinic', type: 'Patient', id: 'vip' },
      resource: { resourceType: 'Patient', id: 'vip', meta: { security: [{ system, code: 'V' }] } } as never,
    },
  ]);
  const of = narrowCaller(caller, { clearance: [{ system, codes: ['N'] }] });
  const { interactions } = await explainAccess(
    { of, type: 'Patient', id: 'vip' },
    { store, caller: systemCaller('clinic') },
  );
  expect(interactions.read.reasons?.[0]?.because).toEqual(['the clearance does not hold']);
});

test.each([
  {},
  undefined,
  { clearance: [{ system: 7, codes: ['N'] }] },
  { clearance: [{ system: '', codes: ['N'] }] },
  { clearance: [{ system: 'http://example.org', codes: ['N', 7] }] },
  { clearance: [{ system: 'http://example.org', codes: 'N' }] },
])('a caller cannot be narrowed by %j', async (narrowing) => {
  const { caller } = await member();
  expect(await codeOf(Promise.resolve().then(() => narrowCaller(caller, narrowing as never)))).toBe('invalid');
});
