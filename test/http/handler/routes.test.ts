import { beforeAll, describe, expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { MemoryStore, systemCaller } from '../../../src/index.js';
import { idOf, openService, outcomeText, patient, send, type Service } from './open-service.js';

let service: Service;
let id: string;
beforeAll(async () => {
  service = await openService();
  id = idOf(await service.call('POST', 'Patient', { body: patient() }));
});

describe('routes', () => {
  test.each([
    ['/fhir/R4/Nothing/1', 'There is no such resource type'],
    ['/fhir/R4/Nothing', 'There is no such resource type'],
    ['/fhir/R4/Patients/1', 'There is no such resource type. Did you mean "Patient"?'],
    ['/fhir/R4/patient/1', 'There is no such route. Did you mean "Patient"?'],
    ['/fhir/R4/constructor', 'There is no such route'],
    ['/fhir/R4/Patient/1/2/3', 'There is no such route'],
    ['/fhir/R4/Patient/1/$nothing', 'There is no such route'],
    ['/fhir/R4//Patient/1', 'There is no such route'],
    ['/fhir/R5/Patient/1', 'There is no such route'],
    ['/fhir/R4/../../etc/passwd', 'There is no such route'],
    ['/admin/project', 'There is no such route'],
    ['/admin', 'There is no such route'],
    ['/admin/nothing', 'There is no such route'],
    ['/', 'There is no such route'],
  ])('%s is 404', async (path, text) => {
    const answer = await service.call('GET', path);
    expect([answer.status, outcomeText(answer)]).toEqual([404, text]);
  });

  test('an id of any form is not found, or malformed percent-encoding', async () => {
    for (const one of ['ä', '日本', 'a%20b', 'x'.repeat(65), '%2e%2e%2fProject', 'a%00b', '%F0%9F%98%80']) {
      const answer = await service.call('GET', `Patient/${one}`);
      expect([one, answer.status]).toEqual([one, 404]);
    }
    for (const path of ['Patient/%E0%A4%A', 'Patient/%', '%zz/1']) {
      const answer = await service.call('GET', path);
      expect([answer.status, outcomeText(answer)]).toEqual([
        400,
        'The path of the request is not valid percent-encoding',
      ]);
    }
  });

  test('a slash at the end and an encoded dollar sign change nothing', async () => {
    expect((await service.call('GET', `Patient/${id}/`)).status).toBe(200);
    const query = new URLSearchParams({ query: '{ PatientList { gender } }' });
    expect((await service.call('GET', `%24graphql?${query}`)).body).toEqual({
      data: { PatientList: [{ gender: 'female' }] },
    });
  });

  test.each([
    ['DELETE', 'metadata', 'GET, HEAD, OPTIONS'],
    ['PUT', '$graphql', 'GET, HEAD, POST, OPTIONS'],
    ['POST', 'Patient/1', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['PUT', '', 'GET, HEAD, POST, OPTIONS'],
    ['GET', 'Patient/$validate', 'POST, OPTIONS'],
    ['PUT', '/admin/projects/1/members/2', 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'],
    ['TRACEX', 'Patient', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
  ])('%s %s is 405 and names the allowed methods', async (method, path, allow) => {
    const answer = await service.call(method, path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    const options = await service.call('OPTIONS', path, { as: null });
    expect([options.status, options.headers.get('allow'), options.text]).toEqual([204, allow, '']);
  });

  test('HEAD has the headers of GET and no body', async () => {
    const got = await service.call('GET', `Patient/${id}`);
    const head = await service.call('HEAD', `Patient/${id}`);
    expect([head.status, head.text]).toEqual([200, '']);
    expect([...head.headers]).toEqual([...got.headers]);
    expect((await service.call('HEAD', 'Patient/none')).status).toBe(404);
  });

  test('no answer can be cached or sniffed as another type', async () => {
    for (const path of ['metadata', `Patient/${id}`, 'Patient/none', 'Patient', '$graphql']) {
      const { headers } = await service.call('GET', path);
      expect([path, headers.get('cache-control'), headers.get('x-content-type-options'), headers.get('vary')]).toEqual([
        path,
        'no-store',
        'nosniff',
        'accept, authorization, prefer',
      ]);
    }
  });

  test('the host of the request does not matter, the path of the base does', async () => {
    const other = await send(service.handler, 'GET', `https://evil.example/fhir/R4/Patient/${id}`);
    expect(other.status).toBe(200);
    const created = await send(service.handler, 'POST', 'https://evil.example/fhir/R4/Patient', { body: patient() });
    expect(created.headers.get('location')).toMatch(
      /^https:\/\/clinic\.example\/fhir\/R4\/Patient\/[^/]+\/_history\/1$/,
    );
  });

  test('two services with other bases and stores can share a process', async () => {
    const store = new MemoryStore();
    const second = createFhirHandler({
      store,
      baseUrl: 'https://other.example/api/',
      dialect: 'hl7',
      audit: false,
      signIn: () => systemCaller('other'),
    });
    const made = await send(second, 'PUT', 'https://other.example/api/Patient/p', { body: patient({ id: 'p' }) });
    expect([made.status, made.headers.get('location')]).toEqual([
      201,
      'https://other.example/api/Patient/p/_history/1',
    ]);
    expect((await service.call('GET', 'Patient/p')).status).toBe(404);
    const admin = await send(second, 'GET', 'https://other.example/api/admin/projects/other/members');
    expect(admin.status).toBe(404);
    expect(outcomeText(admin)).toBe('Project/other was not found');
    const query = new URLSearchParams({ query: '{ Patient(id: "p") { gender birthDate } }' });
    expect((await send(second, 'GET', `https://other.example/api/$graphql?${query}`)).body).toEqual({
      data: { Patient: { gender: 'female' } },
    });
  });

  test('only the chosen routes are served', async () => {
    const { call } = await openService({ routes: ['graphql', 'read'] });
    expect((await call('GET', 'metadata')).status).toBe(404);
    expect((await call('POST', 'Patient', { body: patient() })).status).toBe(404);
    const answer = await call('DELETE', 'Patient/1');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect((await call('POST', '/admin/projects/1/invite', { body: {} })).status).toBe(404);
  });

  test('parameters that are given twice and headers without end are harmless', async () => {
    expect((await service.call('GET', 'Patient?_format=json&_format=xml&_pretty=true&_pretty=false')).status).toBe(200);
    expect((await service.call('GET', 'Patient?_count=1&_count=2')).status).toBe(400);
    expect((await service.call('GET', `Patient/${id}/_history?_count=1&_count=2`)).status).toBe(400);
    const tags = Array.from({ length: 100_000 }, (_, index) => `W/"${index + 5}"`).join(',');
    const accept = `${'a/b;q=0.1,'.repeat(100_000)}application/json`;
    expect((await service.call('GET', `Patient/${id}`, { headers: { 'if-none-match': tags } })).status).toBe(200);
    expect((await service.call('GET', `Patient/${id}`, { headers: { accept } })).status).toBe(406);
    const huge = { 'if-none-exist': `name=${'a,'.repeat(200_000)}` };
    expect((await service.call('POST', 'Patient', { body: patient(), headers: huge })).status).toBe(422);
  });
});

describe('the format of answers', () => {
  const typeOf = async (path: string, accept?: string): Promise<[number, string | null]> => {
    const { status, headers } = await service.call('GET', path, { headers: accept === undefined ? {} : { accept } });
    return [status, headers.get('content-type')];
  };

  test.each([
    [undefined, 200, 'application/fhir+json'],
    ['*/*', 200, 'application/fhir+json'],
    ['application/fhir+json, */*; q=0.1', 200, 'application/fhir+json'],
    ['application/json', 200, 'application/json'],
    ['application/json;q=0.5, application/fhir+json;q=0.4', 200, 'application/json'],
    ['text/html, application/*;q=0.1', 200, 'application/fhir+json'],
    ['application/fhir+xml', 406, 'application/fhir+json'],
    ['application/json;q=0', 406, 'application/fhir+json'],
  ])('Accept %s', async (accept, status, type) => {
    expect(await typeOf(`Patient/${id}`, accept)).toEqual([status, `${type}; charset=utf-8`]);
  });

  test('_format takes precedence over Accept', async () => {
    expect(await typeOf(`Patient/${id}?_format=json`, 'text/html')).toEqual([
      200,
      'application/fhir+json; charset=utf-8',
    ]);
    expect(await typeOf(`Patient/${id}?_format=application/fhir+json`, 'text/html')).toEqual([
      200,
      'application/fhir+json; charset=utf-8',
    ]);
    expect((await typeOf(`Patient/${id}?_format=xml`))[0]).toBe(406);
  });

  test('_pretty indents', async () => {
    const plain = await service.call('GET', `Patient/${id}`);
    const pretty = await service.call('GET', `Patient/${id}?_pretty=true`);
    expect(pretty.text).toBe(JSON.stringify(plain.body, undefined, 2));
  });
});
