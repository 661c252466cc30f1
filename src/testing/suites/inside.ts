import assert from 'node:assert/strict';
import { ALL, type Criteria, NONE } from '../../search/criteria/criteria.js';
import { parseSearch } from '../../search/parse/parse-search.js';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, idsOf, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** Chains into resources inside the searched one, and dangling references. */
export const insideSuite: ConformanceSuite = {
  name: 'resources inside',
  cases: [
    {
      name: 'chains enter contained resources, from one to the next and out again',
      async run(store) {
        await reports(store);
        await assertFound(store, 'DiagnosticReport', {
          'subject:Patient.family=hill': ['contained', 'stored'],
          'patient.family=hill': ['contained', 'stored'],
          'patient.given=ann': ['contained'],
          'patient.family=hill&patient.gender=male': ['stored'],
          'patient.organization.name=inner': ['contained'],
          'patient.organization.partof.name=outer': ['contained'],
          'patient.organization.partof.partof.name=outer': [],
          'result.code=b': ['contained'],
          'result.patient.family=hill': ['contained'],
          'patient._id=p': [],
          'patient._id=ann': ['stored'],
          'patient._lastUpdated=gt2000': ['stored'],
          'patient.gender:missing=true': ['contained'],
          'patient.gender:not=male': ['contained'],
          'patient._has:Observation:patient:code=b': [],
        });
        await assertChain(store, { kind: 'not', of: ALL }, []);
        await assertChain(store, NONE, []);
        await assertChain(store, ALL, ['contained', 'stored']);
        const chain = { kind: 'chain', parameter: 'subject', type: 'Patient', of: ALL } as const;
        const only = async (reach: 'inside' | 'outside'): Promise<unknown> =>
          idsOf(store, queryOf('DiagnosticReport', { ...chain, reach }));
        assert.deepEqual([await only('inside'), await only('outside')], [['contained'], ['stored']]);
      },
    },
    {
      name: 'the conditions of a chain hold for one contained resource together',
      async run(store) {
        await reports(store);
        await assertFound(store, 'DiagnosticReport', {
          // Values 1 of code a and 2 of code b are in one report, in two Observations or two components.
          'result.code-value-quantity=a$1': ['contained'],
          'result.code-value-quantity=a$2': [],
          'result.component-code-value-quantity=c$3': ['contained'],
          'result.component-code-value-quantity=c$4': [],
          'result.component-code-value-quantity=d$4': ['contained'],
          '_filter=result[code eq a].value-quantity eq 1': ['contained'],
          '_filter=result[code eq a].value-quantity eq 2': [],
          'result.code:text=first': ['contained'],
          '_filter=result[status eq final].code eq b': [],
        });
        const both: Criteria = {
          kind: 'and',
          of: [
            { kind: 'match', parameter: 'code', test: { kind: 'text', text: 'second' } },
            { kind: 'match', parameter: 'code', test: { kind: 'token', code: 'a' } },
          ],
        };
        const chain: Criteria = { kind: 'chain', parameter: 'result', type: 'Observation', of: both };
        assert.deepEqual(await idsOf(store, queryOf('DiagnosticReport', chain)), []);
      },
    },
    {
      name: 'documents and messages are found by what begins them',
      async run(store) {
        await bundles(store);
        await assertFound(store, 'Bundle', {
          'composition.type=report': ['document'],
          'composition.title=discharge': ['document'],
          'composition.title=kept': [],
          'composition.subject:Patient.family=hill': ['document'],
          // It is the entry, not the resource of that id that is stored here.
          'composition=Composition/c': [],
          'composition=http://elsewhere/Composition/c': ['document'],
          'message.event=http://events|admit': ['message'],
          'message.event=http://events|leave': [],
          'message.source-uri=http://sender': ['message'],
          'composition:missing=true': ['empty'],
        });
      },
    },
    {
      name: 'a reference is present wherever it leads',
      async run(store) {
        await putAll(
          store,
          resourceOf('Encounter', 'display', { subject: { display: 'Somebody' } }),
          resourceOf('Encounter', 'identifier', { subject: { identifier: { value: '1' } } }),
          resourceOf('Encounter', 'inside', {
            contained: [{ resourceType: 'Patient', id: 'p' }],
            subject: { reference: '#p' },
          }),
          resourceOf('Encounter', 'nothing', { status: 'planned' }),
          resourceOf('Encounter', 'nowhere', { subject: { reference: '#p' } }),
          resourceOf('Encounter', 'stored', { subject: { reference: 'Patient/1' } }),
          resourceOf('Encounter', 'typed', { subject: { type: 'Patient', display: 'Somebody' } }),
        );
        await assertFound(store, 'Encounter', {
          'subject:missing=true': ['nothing'],
          'subject:missing=false': ['display', 'identifier', 'inside', 'nowhere', 'stored', 'typed'],
          'patient:missing=false': ['inside', 'stored', 'typed'],
          '_filter=subject pr true': ['display', 'identifier', 'inside', 'nowhere', 'stored', 'typed'],
        });
      },
    },
    {
      name: 'contained resources are found no more once their container has changed',
      async run(store) {
        await reports(store);
        const before = await store.read([{ project: 'clinic', type: 'DiagnosticReport', id: 'contained' }]);
        assert.ok(before[0]?.status === 'found');
        await putAll(store, resourceOf('DiagnosticReport', 'contained', { ...before[0].resource, contained: [] }));
        await assertFound(store, 'DiagnosticReport', { 'patient.family=hill': ['stored'], 'result.code=b': [] });
      },
    },
  ],
};

async function assertFound(
  store: ResourceStore,
  type: string,
  expected: { readonly [search: string]: readonly string[] },
): Promise<void> {
  for (const [search, ids] of Object.entries(expected)) {
    assert.deepEqual(await idsOf(store, queryOf(type, parseSearch(store.model, type, search).criteria)), ids, search);
  }
}

async function assertChain(store: ResourceStore, of: Criteria, ids: readonly string[]): Promise<void> {
  const chain: Criteria = { kind: 'chain', parameter: 'subject', type: 'Patient', of };
  assert.deepEqual(await idsOf(store, queryOf('DiagnosticReport', chain)), ids);
}

async function reports(store: ResourceStore): Promise<void> {
  const code = (one: string, text?: string): object => ({ coding: [{ code: one }], ...(text && { text }) });
  await putAll(
    store,
    resourceOf('Organization', 'outer', { name: 'Outer' }),
    resourceOf('Patient', 'ann', { name: [{ family: 'Hill', given: ['Bea'] }], gender: 'male' }),
    resourceOf('DiagnosticReport', 'contained', {
      contained: [
        {
          resourceType: 'Patient',
          id: 'p',
          name: [{ family: 'Hill', given: ['Ann'] }],
          managingOrganization: { reference: '#o' },
        },
        { resourceType: 'Organization', id: 'o', name: 'Inner', partOf: { reference: 'Organization/outer' } },
        {
          resourceType: 'Observation',
          id: 'a',
          status: 'final',
          code: code('a', 'First'),
          subject: { reference: '#p' },
          valueQuantity: { value: 1 },
          component: [
            { code: code('c'), valueQuantity: { value: 3 } },
            { code: code('d'), valueQuantity: { value: 4 } },
          ],
        },
        {
          resourceType: 'Observation',
          id: 'b',
          status: 'amended',
          code: code('b', 'Second'),
          valueQuantity: { value: 2 },
        },
      ],
      subject: { reference: '#p' },
      result: [{ reference: '#a' }, { reference: '#b' }],
    }),
    resourceOf('DiagnosticReport', 'none', {
      contained: [{ resourceType: 'Patient', id: 'p', name: [{ family: 'Hill' }] }],
      subject: { reference: '#q' },
    }),
    resourceOf('DiagnosticReport', 'stored', { subject: { reference: 'Patient/ann' } }),
  );
}

async function bundles(store: ResourceStore): Promise<void> {
  await putAll(
    store,
    // The separately stored copy has changed since.
    resourceOf('Composition', 'c', { title: 'Kept' }),
    resourceOf('Bundle', 'document', {
      type: 'document',
      entry: [
        {
          fullUrl: 'http://elsewhere/Composition/c',
          resource: {
            resourceType: 'Composition',
            id: 'c',
            title: 'Discharge',
            type: { coding: [{ code: 'report' }] },
            subject: { reference: 'urn:uuid:1' },
          },
        },
        { fullUrl: 'urn:uuid:1', resource: { resourceType: 'Patient', name: [{ family: 'Hill' }] } },
        { resource: { resourceType: 'Composition', title: 'Kept' } },
      ],
    }),
    resourceOf('Bundle', 'empty', { type: 'collection' }),
    resourceOf('Bundle', 'message', {
      type: 'message',
      entry: [
        {
          resource: {
            resourceType: 'MessageHeader',
            eventCoding: { system: 'http://events', code: 'admit' },
            source: { endpoint: 'http://sender' },
          },
        },
      ],
    }),
  );
}
