import { describe, expect, test } from 'vitest';
import type { PolicyGrant } from '../../src/access/policy/policy-grant.js';
import { withPolicyExpansions } from '../../src/access/terminology/policy-expansions.js';
import { type ErrorCode, FhirError, MemoryStore, type ResourceStore } from '../../src/index.js';
import { type ExpansionRequest, type TerminologyContext, withTerminology } from '../../src/terminology.js';
import { ALL, expansionKey } from '../../src/search/criteria/criteria.js';
import { faultOf } from '../repository/harness.js';

const CONCEPTS = [{ system: 'urn:s', code: 'x' }];
const SET: ExpansionRequest = { kind: 'value-set', url: 'urn:set' };

function grantOf(...resource: readonly unknown[]): PolicyGrant {
  const parameters = new Map([['set', [{ kind: 'string', text: 'urn:set' } as const]]]);
  return { reference: 'AccessPolicy/a', policy: { resourceType: 'AccessPolicy', resource }, parameters };
}

const rule = (criteria?: unknown, resourceType = 'Observation'): object => ({ resourceType, criteria });

/** A store with a terminology that answers so, and the recorded requests. */
function open(answer: () => unknown = () => CONCEPTS): {
  store: ResourceStore;
  asked: ExpansionRequest[];
  contexts: TerminologyContext[];
} {
  const asked: ExpansionRequest[] = [];
  const contexts: TerminologyContext[] = [];
  const terminology = {
    expand(request: ExpansionRequest, context: TerminologyContext) {
      asked.push(request);
      contexts.push(context);
      return answer();
    },
  };
  return { store: withTerminology(new MemoryStore(), terminology as never), asked, contexts };
}

describe('the criteria of a policy', () => {
  test.each<[string, ExpansionRequest]>([
    ['Observation?code:in=urn:set', SET],
    ['Observation?code:not-in=urn:set', SET],
    ['Observation?code%3ain=urn:set', SET],
    ['Observation?code%3Anot-in=urn:set', SET],
    ['Observation?code:in=%set', SET],
    ['Observation?status=final&code:below=urn:s|x', { kind: 'below', system: 'urn:s', code: 'x' }],
    ['Observation?code:above=urn:s|x', { kind: 'above', system: 'urn:s', code: 'x' }],
    ['Observation?_filter=code in urn:set', SET],
    ['Observation?%5ffilter=code in urn:set', SET],
    ['*?code:in=urn:set', SET],
  ])('are expanded: %s', async (criteria, request) => {
    const { store, asked, contexts } = open();
    const grant = grantOf(rule(undefined), rule(7), rule(criteria));
    const expanded = await withPolicyExpansions(store, 'clinic', grant, undefined, undefined);
    expect(asked).toEqual([request]);
    expect(contexts[0]!.project).toBe('clinic');
    expect(await contexts[0]!.search('ValueSet', ALL)).toEqual([]);
    expect(expanded).toEqual({ ...grant, expansions: new Map([[expansionKey(request), CONCEPTS]]) });
  });

  test('of a rule for all types are expanded for each type that can have them, once', async () => {
    const { store, asked } = open();
    await withPolicyExpansions(store, 'clinic', grantOf(rule('*?gender:in=urn:set', '*')), undefined, undefined);
    expect(asked).toEqual([SET]);
  });

  test('are unchanged if nothing needs a terminology, and nothing is parsed', async () => {
    const { store, asked } = open();
    const model = new Proxy(store.model, {
      get() {
        throw new Error('parsed');
      },
    });
    for (const resourceType of ['Observation', '*']) {
      const grant = grantOf(rule(undefined, resourceType), rule(`${resourceType}?status=final`, resourceType));
      expect(await withPolicyExpansions({ ...store, model }, 'clinic', grant, undefined, undefined)).toBe(grant);
    }
    expect(asked).toEqual([]);
  });

  test('that do not parse are left to the compilation of the rule', async () => {
    const { store, asked } = open();
    const broken = grantOf(
      rule('Observation?nothing:in=urn:set'),
      rule('Patient?code:in=urn:set'),
      rule('*?gender:in=urn:set'),
    );
    expect(await withPolicyExpansions(store, 'clinic', broken, undefined, undefined)).toBe(broken);
    expect(asked).toEqual([]);
  });
});

describe('an error of the terminology', () => {
  const criteria = rule('Observation?code:in=urn:set');

  test.each<ErrorCode>(['invalid', 'unsupported', 'too-costly', 'not-found'])(
    'that a retry does not change refuses the policy: %s',
    async (code) => {
      const { store } = open(() => Promise.reject(new FhirError(code, 'Their words')));
      const fault = await faultOf(withPolicyExpansions(store, 'clinic', grantOf(criteria), undefined, undefined));
      expect([fault.code, fault.message, fault.details, fault.issues]).toEqual([
        'policy-invalid',
        'AccessPolicy/a, resource: Their words',
        { policy: 'AccessPolicy/a' },
        [{ code: 'invalid', diagnostics: 'resource: Their words', expression: ['AccessPolicy.resource'] }],
      ]);
    },
  );

  test('of another kind is passed on', async () => {
    for (const error of [new FhirError('unavailable', 'down'), new FhirError('aborted', 'over')]) {
      const { store } = open(() => Promise.reject(error));
      expect(await faultOf(withPolicyExpansions(store, 'clinic', grantOf(criteria), undefined, undefined))).toBe(error);
    }
  });
});
