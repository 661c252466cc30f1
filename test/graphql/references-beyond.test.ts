import { describe, expect, test } from 'vitest';
import {
  type AnyResource,
  executeFhirGraphql,
  type FhirGraphqlContext,
  MemoryStore,
  systemCaller,
} from '../../src/index.js';
import { guardStore } from '../../src/access/guarded-store.js';
import { sparingStore } from '../support/sparing-store.js';

const caller = systemCaller('clinic');

/** Queries a store that has these resources. */
async function ask(resources: readonly object[], query: string, more: Partial<FhirGraphqlContext> = {}) {
  const store = sparingStore(new MemoryStore());
  await guardStore(store, caller).commit(
    (resources as AnyResource[]).map((resource) => ({
      kind: 'put',
      key: { type: resource.resourceType, id: resource.id! },
      resource,
    })),
  );
  return executeFhirGraphql(query, { store, caller, ...more });
}

const questionnaire = (id: string, version: string) => ({
  resourceType: 'Questionnaire',
  id,
  url: 'http://example.org/Questionnaire/pain',
  version,
  status: 'active',
});

describe('canonicals', () => {
  const response = (canonical: string) => ({
    resourceType: 'QuestionnaireResponse',
    id: 'r',
    status: 'completed',
    questionnaire: canonical,
  });
  const query =
    '{ QuestionnaireResponse(id: r) { _questionnaire { id resource { ... on Questionnaire { id version } } } } }';

  test('lead to the resource with that URL and version', async () => {
    const stored = [questionnaire('one', '1.0'), questionnaire('two', '2.0')];
    const answer = await ask([...stored, response('http://example.org/Questionnaire/pain|1.0')], query);
    expect(answer).toEqual({
      data: { QuestionnaireResponse: { _questionnaire: { id: null, resource: { id: 'one', version: '1.0' } } } },
    });
  });

  test('without a version lead to the resource with that URL', async () => {
    const answer = await ask([questionnaire('one', '1.0'), response('http://example.org/Questionnaire/pain')], query);
    expect(answer.data).toEqual({
      QuestionnaireResponse: { _questionnaire: { id: null, resource: { id: 'one', version: '1.0' } } },
    });
  });

  test('that lead nowhere are null and an error with path', async () => {
    const answer = await ask([questionnaire('one', '1.0'), response('http://example.org/Questionnaire/pain|9')], query);
    expect(answer.data).toEqual({ QuestionnaireResponse: { _questionnaire: { id: null, resource: null } } });
    expect(answer.errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['QuestionnaireResponse', '_questionnaire', 'resource'], 'not-found'],
    ]);
  });

  test('of a list each lead to their own target, or to a contained resource', async () => {
    const plan = {
      resourceType: 'CarePlan',
      id: 'p',
      status: 'active',
      intent: 'plan',
      subject: { reference: 'Patient/1' },
      contained: [{ resourceType: 'ActivityDefinition', id: 'inner', status: 'draft' }],
      instantiatesCanonical: ['http://example.org/Questionnaire/pain', '#inner'],
    };
    const answer = await ask(
      [questionnaire('one', '1.0'), plan],
      '{ CarePlan(id: p) { instantiatesCanonical _instantiatesCanonical { resource { __typename id } } } }',
    );
    expect(answer).toEqual({
      data: {
        CarePlan: {
          instantiatesCanonical: ['http://example.org/Questionnaire/pain', '#inner'],
          _instantiatesCanonical: [
            { resource: { __typename: 'Questionnaire', id: 'one' } },
            { resource: { __typename: 'ActivityDefinition', id: 'inner' } },
          ],
        },
      },
    });
  });
});

describe('logical references', () => {
  const identifier = { system: 'http://example.org/mrn', value: '7' };
  const resources = [
    { resourceType: 'Patient', id: 'p', identifier: [identifier] },
    {
      resourceType: 'Observation',
      id: 'o',
      status: 'final',
      code: { text: 'x' },
      subject: { type: 'Patient', identifier },
    },
  ];
  const query = '{ Observation(id: o) { subject { resource { ... on Patient { id } } } } }';

  test('are followed if the host enables it', async () => {
    const answer = await ask(resources, query, { resolveIdentifiers: true });
    expect(answer).toEqual({ data: { Observation: { subject: { resource: { id: 'p' } } } } });
  });

  test('are null without error otherwise', async () => {
    expect(await ask(resources, query)).toEqual({ data: { Observation: { subject: { resource: null } } } });
  });

  test('that several resources match are an error', async () => {
    const twin = { resourceType: 'Patient', id: 'q', identifier: [identifier] };
    const answer = await ask([...resources, twin], query, { resolveIdentifiers: true });
    expect(answer.data).toEqual({ Observation: { subject: { resource: null } } });
    expect(answer.errors?.[0]?.extensions.code).toBe('not-found');
  });
});

describe('references that lead outside', () => {
  const away = 'https://other.example/fhir/Patient/1';
  const resources = [
    { resourceType: 'Patient', id: '1', gender: 'male' },
    { resourceType: 'Organization', id: '9', name: 'Ours' },
    { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, subject: { reference: away } },
  ];
  const query = `{ Observation(id: o) { subject { resource { ... on Patient {
    id gender
    ObservationList(_reference: subject) { id }
    managingOrganization { resource { ... on Organization { name } } }
  } } } } }`;

  test('are never treated as local references', async () => {
    const answer = await ask(resources, query);
    expect(answer.data).toEqual({ Observation: { subject: { resource: null } } });
    expect(answer.errors?.[0]).toMatchObject({ path: ['Observation', 'subject', 'resource'] });
  });

  test('are followed by the host, and so are the references inside the resources that it returns', async () => {
    const asked: string[] = [];
    const answer = await ask(resources, query, {
      resolveReference: async (url) => {
        asked.push(url);
        if (url === away) {
          return {
            resourceType: 'Patient',
            id: '1',
            gender: 'female',
            managingOrganization: { reference: 'Organization/9' },
          } as AnyResource;
        }
        return url.endsWith('Organization/9')
          ? ({ resourceType: 'Organization', name: 'Theirs' } as AnyResource)
          : null;
      },
    });
    expect(answer).toEqual({
      data: {
        Observation: {
          subject: {
            resource: {
              id: '1',
              gender: 'female',
              ObservationList: [],
              managingOrganization: { resource: { name: 'Theirs' } },
            },
          },
        },
      },
    });
    expect(asked).toEqual([away, 'https://other.example/fhir/Organization/9']);
  });

  test('are errors if the host finds nothing, without the error that it threw', async () => {
    const answer = await ask(resources, query, {
      resolveReference: () => Promise.reject(new Error('secret of the host')),
    });
    expect(answer.data).toEqual({ Observation: { subject: { resource: null } } });
    expect(JSON.stringify(answer.errors)).not.toContain('secret');
  });
});

test('urn:uuid leads to the entry of its Bundle', async () => {
  const bundle = {
    resourceType: 'Bundle',
    id: 'b',
    type: 'collection',
    entry: [
      {
        fullUrl: 'urn:uuid:5a7e1d3c-0000-4000-8000-000000000001',
        resource: { resourceType: 'Patient', gender: 'male' },
      },
      {
        fullUrl: 'urn:uuid:5a7e1d3c-0000-4000-8000-000000000002',
        resource: {
          resourceType: 'Observation',
          status: 'final',
          code: { text: 'x' },
          subject: { reference: 'urn:uuid:5a7e1d3c-0000-4000-8000-000000000001' },
        },
      },
    ],
  };
  const answer = await ask(
    [bundle],
    '{ Bundle(id: b) { entry(_offset: 1) { resource { ... on Observation { subject { resource { ... on Patient { gender } } } } } } } }',
  );
  expect(answer).toEqual({
    data: { Bundle: { entry: [{ resource: { subject: { resource: { gender: 'male' } } } }] } },
  });
});
