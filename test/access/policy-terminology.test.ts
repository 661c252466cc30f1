import { describe, expect, test } from 'vitest';
import { checkPolicies } from '../../src/access.js';
import { type AnyResource, MemoryStore, type ResourceStore, systemCaller } from '../../src/index.js';
import { type Criteria, R4 } from '../../src/store.js';
import { type ExpansionRequest, type TerminologyContext, withTerminology } from '../../src/terminology.js';
import type { GuardedWrite } from '../../src/access/contract.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { compilePolicies } from '../../src/access/policy/compile-policies.js';
import { assertPolicyWrite, policyProblems } from '../../src/access/policy/validate-policy.js';
import { OWN_EXTENSIONS } from '../../src/fhir/own-extensions.js';
import { elementsOf } from '../../src/fhir/resource.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import { faultOf, signedIn, system } from '../repository/harness.js';
import { put } from './decisions.js';

const clinic = systemCaller('clinic');

/** A store with a terminology that has one code in every value set. */
async function open(): Promise<{ plain: MemoryStore; served: ResourceStore; contexts: TerminologyContext[] }> {
  const plain = new MemoryStore();
  await system(plain);
  const contexts: TerminologyContext[] = [];
  const terminology = {
    async expand(_: ExpansionRequest, context: TerminologyContext) {
      contexts.push(context);
      return [{ system: 'urn:s', code: 'x' }];
    },
  };
  return { plain, served: withTerminology(plain, terminology as never), contexts };
}

const POLICY = {
  resourceType: 'AccessPolicy',
  id: 'p',
  resource: [{ resourceType: 'Observation', criteria: 'Observation?code:in=%set' }],
} as AnyResource;

const NEEDED = /needs a terminology/;

describe('a policy with value sets', () => {
  test('is refused without a terminology', () => {
    expect(() => assertPolicyWrite(R4, POLICY)).toThrow(NEEDED);
    expect(() => assertPolicyWrite(R4, POLICY, false)).toThrow(NEEDED);
    assertPolicyWrite(R4, POLICY, true);
    const problems = policyProblems(R4, 'AccessPolicy/p', elementsOf(POLICY));
    expect(problems).toMatchObject([
      { path: 'resource[0].criteria', message: expect.stringMatching(NEEDED) as string },
    ]);
    expect(policyProblems(R4, 'AccessPolicy/p', elementsOf(POLICY), true)).toEqual([]);
  });

  test('is accepted only over a store with a terminology, from administrators and trusted code', async () => {
    const { plain, served } = await open();
    for (const caller of [clinic, await signedIn(plain, { admin: true })]) {
      const fault = await faultOf(guardStore(plain, caller).commit([put(POLICY)]));
      expect([fault.code, fault.message]).toEqual(['policy-invalid', expect.stringMatching(NEEDED)]);
      expect(await guardStore(served, caller).commit([put(POLICY)])).toHaveLength(1);
    }
  });

  test('is reported by checkPolicies if the terminology is missing', async () => {
    const { plain, served } = await open();
    await guardStore(served, clinic).commit([put(POLICY)]);
    const parameter = [{ name: 'set', valueString: 'urn:set' }];
    const membership = {
      resourceType: 'ProjectMembership',
      id: 'm',
      user: { reference: 'User/u' },
      profile: { reference: 'Practitioner/p' },
      access: [{ policy: { reference: 'AccessPolicy/p' }, parameter }],
    } as AnyResource;
    const key = { project: 'clinic', type: 'ProjectMembership', id: 'm' };
    await plain.commit([{ kind: 'put', key, resource: membership }]);
    const found = async (store: ResourceStore): Promise<unknown[]> => {
      const resources = [];
      for await (const { resource, problems } of checkPolicies({}, { store })) {
        for (const { severity, message } of problems)
          if (severity === 'error') resources.push([resource, NEEDED.test(message)]);
      }
      return resources;
    };
    expect(await found(served)).toEqual([]);
    expect(await found(plain)).toEqual([
      ['AccessPolicy/p', true],
      ['ProjectMembership/m', true],
    ]);
  });
});

describe('a clearance', () => {
  const url = OWN_EXTENSIONS.clearance;
  const clear = [
    { url: 'system', valueUri: 'urn:labels' },
    { url: 'code', valueCode: 'open' },
  ];

  test('that is invalid is reported with its location in the policy', () => {
    const extension = [{ url: 'urn:other' }, { url, extension: clear }, { url, extension: [] }];
    expect(policyProblems(R4, 'AccessPolicy/p', { resourceType: 'AccessPolicy', extension, resource: [] })).toEqual([
      {
        path: 'extension[2]',
        message: 'a clearance has one "system" (valueUri), and a "code" (valueCode) for each code',
        severity: 'error',
      },
    ]);
  });

  test('of a policy is a complete condition of its rules', () => {
    const policy = {
      resourceType: 'AccessPolicy',
      extension: [{ url, extension: clear }],
      resource: [{ resourceType: 'Patient' }],
    };
    const rules = compilePolicies(R4, [{ reference: 'AccessPolicy/p', policy, parameters: new Map() }]);
    expect(rules.rulesFor('Patient').map(({ conditions }) => conditions)).toMatchObject([
      [{ text: 'the clearance of the policy', missing: [] }],
    ]);
  });
});

describe('value sets in conditions', () => {
  const criteria: Criteria = {
    kind: 'match',
    parameter: 'code',
    test: { kind: 'concept', request: { kind: 'value-set', url: 'urn:set' } },
  };
  const check: GuardedWrite = { kind: 'assert-no-match', query: { type: 'Observation', criteria } };
  const observation = (id: string, code: string): GuardedWrite =>
    put({
      resourceType: 'Observation',
      id,
      status: 'final',
      code: { coding: [{ system: 'urn:s', code }] },
    } as AnyResource);

  test('of a write are expanded, at any position among the writes', async () => {
    const { served, contexts } = await open();
    const guard = guardStore(served, clinic);
    await guard.commit([observation('y', 'y')]);
    expect(contexts).toEqual([]);
    await guard.commit([observation('z', 'z'), check]);
    await guard.commit([check, observation('x', 'x')]);
    expect(contexts).toHaveLength(2);
    const fault = await faultOf(guard.commit([observation('w', 'w'), check]));
    expect([fault.code, fault.details?.['index']]).toEqual(['conflict', 1]);
  });

  test('of a search are expanded with the rights of the caller', async () => {
    const { plain, served, contexts } = await open();
    await guardStore(plain, clinic).commit([
      observation('x', 'x'),
      observation('y', 'y'),
      ...Array.from({ length: 101 }, (_, at) =>
        put({ resourceType: 'ValueSet', id: `v${at}`, status: 'active' } as AnyResource),
      ),
    ]);
    const reader = await signedIn(plain, {
      rules: [
        { resourceType: 'Observation', hiddenFields: ['note'] },
        { resourceType: 'ValueSet', criteria: 'ValueSet?_id=v7' },
      ],
    });
    for (const caller of [clinic, reader]) {
      const { matches } = await guardStore(served, caller).search({ type: 'Observation', criteria });
      expect(matches.map(({ resource }) => resource.id)).toEqual(['x']);
    }
    expect(contexts.map(({ project }) => project)).toEqual(['clinic', 'clinic']);
    const [trusted, member] = contexts as [TerminologyContext, TerminologyContext];
    expect(await trusted.search('ValueSet', ALL)).toHaveLength(100);
    expect((await member.search('ValueSet', ALL)).map(({ id }) => id)).toEqual(['v7']);
    expect(await member.search('CodeSystem', ALL)).toEqual([]);
  });
});
