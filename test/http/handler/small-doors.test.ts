import type { Bundle, CapabilityStatement, Parameters, Project } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Answer, openService, outcomeText, patient, type Service } from './open-service.js';

let service: Service;
beforeEach(async () => {
  service = await openService();
  for (const [id, family] of [
    ['a', 'Adams'],
    ['b', 'Brook'],
  ] as const) {
    await service.trusted.update(patient({ id, name: [{ family }] }) as never);
  }
});

const ids = ({ body }: Answer): unknown => ((body as Bundle).entry ?? []).map(({ resource }) => resource?.id);

describe('a parameter without a value', () => {
  test.each([
    ['GET Patient?name=', ['a', 'b']],
    ['GET Patient?name=&family=adams', ['a']],
    ['GET Patient?name:exact=&organization.name=&_has:Observation:patient:code=&family=adams', ['a']],
    ['GET Patient?_sort=&_count=&_include=&_elements=&_summary=&_filter=&_total=&family=adams', ['a']],
    ['GET Patient?name', ['a', 'b']],
    ['GET Patient/_history?_since=', ['b', 'a']],
    ['GET Patient/a/_history?_count=&_at=', ['a']],
    ['GET Patient/a/$everything?_type=&_since=', ['a']],
  ])('is ignored: %s', async (request, expected) => {
    const [method, path] = request.split(' ') as [string, string];
    const answer = await service.call(method, path);
    expect([answer.status, ids(answer)]).toEqual([200, expected]);
    // The link to the page has what was used.
    const self = (answer.body as Bundle).link?.find(({ relation }) => relation === 'self')?.url ?? '';
    expect(self).not.toMatch(/=(?:&|$)/);
  });

  test('is ignored in a form, in a batch and among members and projects', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(ids(await service.call('POST', 'Patient/_search', { body: 'name=&family=adams', headers }))).toEqual(['a']);
    const entry = [{ request: { method: 'GET', url: 'Patient?name=&family=adams' } }];
    const batch = (await service.call('POST', '', { body: { resourceType: 'Bundle', type: 'batch', entry } }))
      .body as Bundle<Bundle>;
    expect(batch.entry![0]!.resource!.entry!.map(({ resource }) => resource!.id)).toEqual(['a']);
    for (const [path, as] of [
      [`/admin/projects/${service.project}/members?name=&email=&profile=`, 'admin'],
      ['/admin/projects?name=&_id=', 'operator'],
    ] as const) {
      expect((ids(await service.call('GET', path, { as })) as unknown[]).length).toBe(2);
    }
  });

  test('has a known name even so', async () => {
    for (const query of ['nmae=', 'organization.nmae=', '_has:Observation:patient:cod=', 'name=&nmae=']) {
      expect((await service.call('GET', `Patient?${query}`)).status).toBe(400);
    }
  });

  test('is never ignored where something is written', async () => {
    const one = patient({ name: [{ family: 'New' }] });
    const reference = { reference: 'Patient?identifier=' };
    const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: reference };
    const inBundle = (type: string, entry: object): Promise<Answer> =>
      service.call('POST', '', { body: { resourceType: 'Bundle', type, entry: [entry] } });
    for (const query of ['identifier=', 'identifier=&family=adams', 'family=adams&identifier=', 'family=adams&_id=']) {
      const answers = [
        await service.call('DELETE', `Patient?${query}`),
        await service.call('PUT', `Patient?${query}`, { body: one }),
        await service.call('PATCH', `Patient?${query}`, { body: [] }),
        await service.call('POST', 'Patient', { body: one, headers: { 'if-none-exist': query } }),
        await inBundle('transaction', { request: { method: 'DELETE', url: `Patient?${query}` } }),
        await inBundle('transaction', { request: { method: 'PUT', url: `Patient?${query}` }, resource: one }),
        await inBundle('transaction', {
          request: { method: 'POST', url: 'Patient', ifNoneExist: query },
          resource: one,
        }),
        await inBundle('transaction', { request: { method: 'POST', url: 'Observation' }, resource: observation }),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
    }
    expect(ids(await service.call('GET', 'Patient'))).toEqual(['a', 'b']);
  });
});

test('POST _search needs a media type only for a body', async () => {
  const headers = { 'content-type': 'application/json' };
  expect(ids(await service.call('POST', 'Patient/_search?_id=a'))).toEqual(['a']);
  expect(ids(await service.call('POST', 'Patient/_search'))).toEqual(['a', 'b']);
  expect(ids(await service.call('POST', 'Patient/_search?_id=a', { body: '', headers }))).toEqual(['a']);
  expect((await service.call('POST', 'Patient/_search', { body: '{}', headers })).status).toBe(415);
});

describe('POST $everything', () => {
  const path = 'Patient/a/$everything';
  const ask = (parameter: Parameters['parameter']): Promise<Answer> =>
    service.call('POST', path, { body: { resourceType: 'Parameters', parameter } });

  test('answers as GET does, with Parameters, with a query and with neither', async () => {
    const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' } };
    await service.trusted.update({ ...observation, id: 'o', subject: { reference: 'Patient/a' } } as never);
    expect(ids(await service.call('GET', path))).toEqual(['a', 'o']);
    expect(ids(await service.call('POST', path))).toEqual(['a', 'o']);
    expect(ids(await service.call('POST', `${path}?_type=Observation`))).toEqual(['o']);
    expect(ids(await ask(undefined))).toEqual(['a', 'o']);
    expect(ids(await ask([{ name: '_type', valueCode: 'Observation' }]))).toEqual(['o']);
    const both = ['Patient', 'Observation'].map((valueCode) => ({ name: '_type', valueCode }));
    expect(ids(await ask(both))).toEqual(['a', 'o']);
    const first = await ask([{ name: '_count', valueInteger: 1 }]);
    expect(ids(first)).toEqual(['a']);
    const next = (first.body as Bundle).link!.find(({ relation }) => relation === 'next')!.url;
    expect(ids(await service.call('GET', next))).toEqual(['o']);
    expect(ids(await ask([{ name: '_since', valueInstant: '2999-01-01T00:00:00Z' }]))).toEqual([]);
  });

  test('refuses what it does not know', async () => {
    for (const answer of [
      await ask([{ name: 'dryRun', valueBoolean: true }]),
      await ask([{ name: 'start', valueDate: '2024-01-01' }]),
      await ask([
        { name: '_since', valueInstant: '2024-01-01T00:00:00Z' },
        { name: '_since', valueInstant: '2025-01-01T00:00:00Z' },
      ]),
      await ask([{ name: '_type', valueCode: 'Nothing' }]),
      await service.call('POST', path, { body: patient() }),
      await service.call('POST', path, { body: 'no JSON' }),
    ]) {
      expect(answer.status).toBe(400);
    }
    const headers = { 'content-type': 'text/plain' };
    expect((await service.call('POST', path, { body: '{}', headers })).status).toBe(415);
    expect((await service.call('POST', 'Patient/none/$everything')).status).toBe(404);
  });
});

test('an unknown type is 404 in a batch and a transaction, as alone', async () => {
  for (const [method, url] of [
    ['GET', 'Foo/1'],
    ['GET', 'Foo?name=x'],
    ['GET', 'Foo/1/_history'],
    ['GET', 'patient/1'],
    ['DELETE', 'Foo/1'],
    ['PUT', 'Foo/1'],
    ['POST', 'Foo'],
  ] as const) {
    const resource = method === 'PUT' || method === 'POST' ? { resource: { resourceType: 'Foo', id: '1' } } : {};
    const entry = [{ request: { method, url }, ...resource }];
    const single = await service.call(method, url, resource.resource === undefined ? {} : { body: resource.resource });
    const batch = await service.call('POST', '', { body: { resourceType: 'Bundle', type: 'batch', entry } });
    const transaction = await service.call('POST', '', {
      body: { resourceType: 'Bundle', type: 'transaction', entry },
    });
    const { status } = (batch.body as Bundle).entry![0]!.response!;
    expect([url, single.status, status, transaction.status]).toEqual([url, 404, '404 Not Found', 404]);
  }
});

test('metadata says the version of the model, and what can be included in reverse', async () => {
  const { fhirVersion, rest } = (await service.call('GET', 'metadata')).body as CapabilityStatement;
  expect(fhirVersion).toBe(service.store.model.version);
  const resource = rest![0]!.resource!;
  const reverse = resource.find(({ type }) => type === 'Patient')!.searchRevInclude!;
  expect(reverse).toEqual(expect.arrayContaining(['Observation:subject', 'Observation:patient', 'Encounter:subject']));
  expect(reverse).not.toContain('Observation:encounter');
  // The nurse searches Patients, Observations and Conditions only.
  const nurse = (await service.call('GET', 'metadata', { as: 'nurse' })).body as CapabilityStatement;
  const [seen] = nurse.rest![0]!.resource!.filter(({ type }) => type === 'Patient');
  expect(new Set(seen!.searchRevInclude!.map((one) => one.split(':')[0]))).toEqual(
    new Set(['Condition', 'Observation', 'Patient']),
  );
  for (const name of reverse.slice(0, 40)) {
    expect((await service.call('GET', `Patient?_revinclude=${name}`)).status).toBe(200);
  }
});

test('a project that is created with an id says that the id was not used', async () => {
  const create = (body: object): Promise<Answer> => service.call('POST', 'Project', { as: 'operator', body });
  const named = await create({ resourceType: 'Project', name: 'North', id: 'north' });
  const { id } = named.body as Project;
  expect(id).not.toBe('north');
  expect(named.headers.get('warning')).toBe(`199 - "The id of the body was not used; the project has the id ${id}"`);
  expect((await create({ resourceType: 'Project', name: 'South' })).headers.get('warning')).toBeNull();
  expect(outcomeText(await service.call('POST', 'Project', { body: { resourceType: 'Project', name: 'x' } }))).toMatch(
    /^Only super administrators/,
  );
});
