import type { Bundle } from '@medplum/fhirtypes';
import { beforeEach, describe, expect, test } from 'vitest';
import { readGraphqlRequest } from '../../../src/http.js';
import { FhirError } from '../../../src/index.js';
import { type Answer, openService, outcomeText, patient, send, type Service } from './open-service.js';

/** Latin-1, a cut-off sequence, a surrogate, an overlong slash, and percent signs that begin no escape. */
const MALFORMED = ['%D6zil', '%C4', '%E2%82', '%ED%A0%80', '%C0%AF', '%', '50%', '%zz'];
const MESSAGE = 'The query must be percent-encoded UTF-8; a literal "%" is written "%25"';

let service: Service;
beforeEach(async () => {
  service = await openService();
  await service.trusted.update(patient({ id: 'other', name: [{ family: 'Zilinski' }] }) as never);
});

/** What became of the only patient. */
async function families(): Promise<unknown[]> {
  const { entry = [] } = (await service.trusted.search('Patient', '')) as Bundle;
  return entry.map(({ resource }) => (resource as { name?: [{ family: string }] }).name?.[0].family);
}

describe('percent-encoding that is not UTF-8', () => {
  const one = patient({ name: [{ family: 'New' }] });
  const send = (method: string, path: string, more: object = {}): Promise<Answer> => service.call(method, path, more);
  const places: readonly (readonly [string, (text: string) => Promise<Answer>])[] = [
    ['a search', (text) => send('GET', `Patient?family=${text}`)],
    ['a token', (text) => send('GET', `Patient?identifier=${text}`)],
    ['the name of a parameter', (text) => send('GET', `Patient?${text}=a`)],
    ['a format', (text) => send('GET', `Patient/other?_format=${text}`)],
    ['a chain', (text) => send('GET', `Observation?subject:Patient.family=${text}`)],
    ['a form', (text) => form(`family=${text}`)],
    ['a search by POST', (text) => form('', `?family=${text}`)],
    ['a conditional delete', (text) => send('DELETE', `Patient?family=${text}`)],
    ['a conditional update', (text) => send('PUT', `Patient?family=${text}`, { body: one })],
    ['a conditional patch', (text) => send('PATCH', `Patient?family=${text}`, { body: [] })],
    ['If-None-Exist', (text) => send('POST', 'Patient', { body: one, headers: { 'if-none-exist': `family=${text}` } })],
    ['a history', (text) => send('GET', `Patient/other/_history?_since=${text}`)],
    ['the members', (text) => send('GET', `/admin/projects/${service.project}/members?name=${text}`)],
    ['the projects', (text) => send('GET', `/admin/projects?name=${text}`, { as: 'operator' })],
    ['$everything', (text) => send('GET', `Patient/other/$everything?_type=${text}`)],
    ['GraphQL by GET', (text) => send('GET', `$graphql?query={PatientList(family:"${text}"){id}}`)],
  ];
  const form = (body: string, query = ''): Promise<Answer> =>
    send('POST', `Patient/_search${query}`, { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });

  test.each(places)('is 400 in %s', async (_place, ask) => {
    for (const text of MALFORMED) {
      const answer = await ask(text);
      expect([text, answer.status, outcomeText(answer)]).toEqual([text, 400, MESSAGE]);
    }
    expect(await families()).toEqual(['Zilinski']);
  });

  test('is 400 in the requests of a Bundle, with the entry', async () => {
    const requests = (text: string): readonly object[] => [
      { request: { method: 'GET', url: `Patient?family=${text}` } },
      { request: { method: 'GET', url: `Patient/other/_history?_since=${text}` } },
      { request: { method: 'GET', url: `Patient/other?_elements=${text}` } },
      { request: { method: 'DELETE', url: `Patient?family=${text}` } },
      { request: { method: 'PUT', url: `Patient?family=${text}` }, resource: one },
      { request: { method: 'POST', url: 'Patient', ifNoneExist: `family=${text}` }, resource: one },
    ];
    for (const text of MALFORMED) {
      const body = { resourceType: 'Bundle', type: 'batch', entry: requests(text) };
      const { entry = [] } = (await service.call('POST', '', { body })).body as Bundle;
      expect(entry.map(({ response }) => response?.status)).toEqual(requests(text).map(() => '400 Bad Request'));
      const reference = { reference: `Patient?family=${text}` };
      const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: reference };
      const linked = [{ request: { method: 'POST', url: 'Observation' }, resource: observation }];
      const transaction = { resourceType: 'Bundle', type: 'transaction', entry: linked };
      const answer = await service.call('POST', '', { body: transaction });
      expect([answer.status, outcomeText(answer)]).toEqual([400, `Entry 0: ${MESSAGE}`]);
    }
    expect(await families()).toEqual(['Zilinski']);
  });

  test('is an error in the texts of mutations', async () => {
    for (const text of MALFORMED) {
      const query = `mutation ($res: PatientInput!) { PatientCreate(res: $res, ifNoneExist: "family=${text}") { id } }`;
      const variables = { res: { gender: 'female' } };
      const answer = await service.call('POST', '$graphql', { body: { query, variables } });
      expect((answer.body as { errors: [{ message: string }] }).errors[0].message).toBe(MESSAGE);
    }
    expect(await families()).toEqual(['Zilinski']);
  });

  test('is refused in a host’s own searches, also after URLSearchParams replaced it', async () => {
    const refused = { code: 'invalid', message: MESSAGE };
    for (const text of MALFORMED) {
      await expect(service.trusted.search('Patient', `family=${text}`)).rejects.toMatchObject(refused);
    }
    const parameters = new URL('https://clinic.example/?family=%D6zil').searchParams;
    await expect(service.trusted.search('Patient', parameters)).rejects.toMatchObject(refused);
    for (const query of ['family=\uD800zil', { family: '\uD800zil' }]) {
      await expect(service.trusted.search('Patient', query)).rejects.toMatchObject(refused);
    }
  });

  test('a host that reads GraphQL requests itself refuses it too', () => {
    const read = (query: string): unknown =>
      readGraphqlRequest({ method: 'GET', headers: {}, url: `/$graphql?query=${query}` });
    expect(() => read('{PatientList(family:"%D6"){id}}')).toThrow(new FhirError('invalid', MESSAGE));
    // node:http gives bytes beyond ASCII as Latin-1.
    expect(() => read('{PatientList(family:"\u00D6"){id}}')).toThrow('The URL of the request is malformed');
  });
});

test('bytes beyond ASCII are 400 in If-None-Exist, in Latin-1 and in UTF-8', async () => {
  for (const bytes of ['\u00D6zil', '\u00C3\u0096zil', '\u00C4']) {
    const headers = { 'if-none-exist': `family=${bytes}` };
    const answer = await service.call('POST', 'Patient', { body: patient(), headers });
    expect([answer.status, outcomeText(answer)]).toEqual([400, 'If-None-Exist must be percent-encoded']);
  }
  expect(await families()).toEqual(['Zilinski']);
});

test('well-formed encoding finds as before', async () => {
  await service.trusted.update(patient({ id: 'meant', name: [{ family: 'Özil' }], gender: 'male' }) as never);
  for (const query of ['family=%C3%96zil', 'family=Özil', 'family=%c3%96ZIL&gender=ma%6Ce', 'family=+%C3%96zil']) {
    const { body } = await send(service.handler, 'GET', `Patient?${query}`);
    expect((body as Bundle).entry?.map(({ resource }) => resource?.id)).toEqual(['meant']);
  }
});
