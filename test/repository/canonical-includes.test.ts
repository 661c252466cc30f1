import type { Bundle, Resource } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { MemoryStore, type Repository } from '../../src/index.js';
import { put, resourceOf } from '../support/kit.js';
import { faultOf, member, overStores, repositoryOf, signedIn, system } from './harness.js';

const URL = 'http://forms.example/intake';

async function fill(repository: Repository, resources: readonly object[]): Promise<void> {
  for (const resource of resources) await repository.update(resource as Resource & { id: string });
}

function questionnaire(id: string, url: string, version?: string): object {
  return { resourceType: 'Questionnaire', id, url, status: 'active', ...(version === undefined ? {} : { version }) };
}

function response(id: string, canonical: string): object {
  return { resourceType: 'QuestionnaireResponse', id, status: 'completed', questionnaire: canonical };
}

async function found(
  repository: Repository,
  type: 'QuestionnaireResponse' | 'Questionnaire' | 'Observation',
  query: string,
): Promise<string[]> {
  const { entry = [] } = (await repository.search(type, query)) as Bundle;
  return entry.map(({ resource, search }) => `${search?.mode} ${resource!.id}`).sort();
}

const FORMS = [
  questionnaire('old', URL, '1.0'),
  questionnaire('new', URL, '2.0'),
  questionnaire('other', 'http://forms.example/other'),
];

overStores('includes of canonicals', (open) => {
  test('return the named version, or the version that changed last', async () => {
    let seconds = 0;
    const repository = await system(open({ clock: () => new Date(1_700_000_000_000 + 1_000 * seconds++) }));
    await fill(repository, [...FORMS, questionnaire('old', URL, '1.0')]);
    await fill(repository, [response('any', URL), response('one', `${URL}|1.0`), response('lost', `${URL}|3.0`)]);
    const include = '_include=QuestionnaireResponse:questionnaire';
    expect(await found(repository, 'QuestionnaireResponse', `_id=one&${include}`)).toEqual([
      'include old',
      'match one',
    ]);
    expect(await found(repository, 'QuestionnaireResponse', `_id=lost&${include}`)).toEqual(['match lost']);
    await fill(repository, [questionnaire('new', URL, '2.0')]);
    expect(await found(repository, 'QuestionnaireResponse', `_id=any&${include}:Questionnaire`)).toEqual([
      'include new',
      'match any',
    ]);
    expect(await found(repository, 'QuestionnaireResponse', include)).toEqual([
      ...['include new', 'include old', 'match any', 'match lost', 'match one'],
    ]);
  });

  test('backwards return resources that name the version, or no version', async () => {
    const repository = await system(open());
    await fill(repository, FORMS);
    await fill(repository, [response('any', URL), response('one', `${URL}|1.0`), response('two', `${URL}|2.0`)]);
    await fill(repository, [response('local', 'Questionnaire/old'), response('else', `${URL}/more`)]);
    const reverse = '_revinclude=QuestionnaireResponse:questionnaire';
    expect(await found(repository, 'Questionnaire', `_id=old&${reverse}`)).toEqual([
      ...['include any', 'include local', 'include one', 'match old'],
    ]);
    expect(await found(repository, 'Questionnaire', `_id=other&${reverse}`)).toEqual(['match other']);
  });
});

test('show only resources that the caller can see, by fields that it can see', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  await fill(trusted, [...FORMS, response('any', URL), response('one', `${URL}|1.0`)]);
  const responses = { resourceType: 'QuestionnaireResponse' };
  const include = '_include=QuestionnaireResponse:questionnaire';
  const forms = (rules: object[]): Promise<string[]> =>
    member(store, { rules: rules as never }).then((repository) => found(repository, 'QuestionnaireResponse', include));
  expect(await forms([responses])).toEqual(['match any', 'match one']);
  expect(await forms([responses, { resourceType: 'Questionnaire', criteria: 'Questionnaire?version=1.0' }])).toEqual([
    ...['include old', 'match any', 'match one'],
  ]);
  const whole = { resourceType: 'Questionnaire' };
  expect(await forms([{ ...responses, hiddenFields: ['questionnaire'] }, whole])).toEqual(['match any', 'match one']);
  expect(await forms([responses, { ...whole, hiddenFields: ['url'] }])).toEqual(['match any', 'match one']);
});

test('a foreign reference is no canonical', async () => {
  const repository = await system(new MemoryStore());
  const subject = { reference: 'http://forms.example/Questionnaire/1' };
  await fill(repository, [
    questionnaire('form', subject.reference),
    { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'x' }, focus: [subject] },
  ]);
  expect(await found(repository, 'Observation', '_include=Observation:focus')).toEqual(['match o']);
});

test('make one search for 100 URLs of a type, and for at most 1000 resources', async () => {
  const store = new MemoryStore();
  await system(store);
  const writes = Array.from({ length: 250 }, (_, index) => [
    put(resourceOf('Questionnaire', `q${index}`, { url: `${URL}/${index}` }), {}, 'clinic'),
    put(resourceOf('QuestionnaireResponse', `r${index}`, { questionnaire: `${URL}/${index}` }), {}, 'clinic'),
  ]);
  await store.commit(writes.flat());
  let searches = 0;
  const { search } = store;
  store.search = (...call) => ((searches += 1), search.apply(store, call));
  const repository = repositoryOf(store, await signedIn(store));
  searches = 0;
  const page = await repository.search(
    'QuestionnaireResponse',
    '_count=1000&_include=QuestionnaireResponse:questionnaire',
  );
  expect([page.entry?.length, searches]).toEqual([500, 4]);
  const many = Array.from({ length: 1001 }, (_, index) =>
    put(resourceOf('Questionnaire', `v${index}`, { url: URL, version: `${index}` }), {}, 'clinic'),
  );
  await store.commit([...many, put(resourceOf('QuestionnaireResponse', 'r', { questionnaire: URL }), {}, 'clinic')]);
  const fault = await faultOf(
    repository.search('QuestionnaireResponse', '_id=r&_include=QuestionnaireResponse:questionnaire'),
  );
  expect([fault.code, fault.details]).toEqual(['too-costly', { max: 1000 }]);
});

test('references by identifier alone are followed if the host enables it, to exactly one resource', async () => {
  const store = new MemoryStore();
  const trusted = await system(store);
  const identifier = (value: string): object => ({ system: 'urn:mrn', value });
  const observation = (id: string, subject: object): object => ({
    ...{ resourceType: 'Observation', id, status: 'final', code: { text: 'x' }, subject },
  });
  await fill(trusted, [
    { resourceType: 'Patient', id: 'ann', identifier: [identifier('1')] },
    { resourceType: 'Patient', id: 'bob', identifier: [identifier('2')] },
    { resourceType: 'Patient', id: 'twin', identifier: [identifier('2')] },
    { resourceType: 'Group', id: 'group', type: 'person', actual: true, identifier: [identifier('3')] },
    observation('typed', { type: 'Patient', identifier: identifier('1') }),
    observation('open', { identifier: identifier('3') }),
    observation('wrong', { type: 'Device', identifier: identifier('3') }),
    observation('two', { identifier: identifier('2') }),
    observation('literal', { reference: 'Patient/bob', identifier: identifier('1') }),
  ]);
  const caller = await signedIn(store);
  const include = '_include=Observation:subject';
  const included = async (id: string, resolveIdentifiers: boolean): Promise<string[]> =>
    (await found(repositoryOf(store, caller, { resolveIdentifiers }), 'Observation', `_id=${id}&${include}`)).slice(
      0,
      -1,
    );
  expect(await included('typed', false)).toEqual([]);
  expect(await included('typed', true)).toEqual(['include ann']);
  expect(await included('open', true)).toEqual(['include group']);
  expect(await included('wrong', true)).toEqual([]);
  expect(await included('two', true)).toEqual([]);
  expect(await included('literal', true)).toEqual(['include bob']);
});
