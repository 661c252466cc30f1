import type { Bundle, OperationOutcome } from '@medplum/fhirtypes';
import { beforeAll, expect, test } from 'vitest';
import { openService, patient, type Service } from '../http/handler/open-service.js';
import { searchParameter } from './search-parameters.js';

const TEXT =
  'A SearchParameter in a project has no effect on searches: parameters come from the definitions of the service';
const RESOURCE = searchParameter({ code: 'own', base: 'Patient', type: 'token', expression: 'Patient.active' });
const WARNING = { severity: 'warning', code: 'informational', details: { text: TEXT } };
const GRAPHQL = { 'content-type': 'application/json' };

let service: Service;
beforeAll(async () => {
  service = await openService();
});

test('a write of a stored search parameter over REST warns in a header, and in the outcome that Prefer requests', async () => {
  const created = await service.call('POST', 'SearchParameter', { body: RESOURCE });
  expect([created.status, created.headers.get('warning')]).toEqual([201, `199 - "${TEXT}"`]);
  const { id } = created.body as { id: string };
  const headers = { prefer: 'return=OperationOutcome' };
  const updated = await service.call('PUT', `SearchParameter/${id}`, { body: { ...RESOURCE, id }, headers });
  expect((updated.body as OperationOutcome).issue).toContainEqual(WARNING);
  const patched = await service.call('PATCH', `SearchParameter/${id}`, {
    body: [{ op: 'replace', path: '/status', value: 'draft' }],
    headers: { 'content-type': 'application/json-patch+json' },
  });
  expect(patched.headers.get('warning')).toContain(TEXT);
  expect((await service.call('GET', `Patient?own=true`)).status).toBe(400);
  expect((await service.call('POST', 'Patient', { body: patient() })).headers.get('warning')).toBeNull();
});

test('a conditional create that finds one writes nothing and gives no warning', async () => {
  await service.call('POST', 'SearchParameter', { body: { ...RESOURCE, url: 'urn:twice' } });
  const headers = { 'if-none-exist': 'url=urn:twice' };
  const again = await service.call('POST', 'SearchParameter', { body: RESOURCE, headers });
  expect([again.status, again.headers.get('warning')]).toEqual([200, null]);
});

test('entries of Bundles warn in their outcome, and $validate among its findings', async () => {
  const request = { method: 'POST', url: 'SearchParameter' };
  const bundle = { resourceType: 'Bundle', type: 'batch', entry: [{ resource: RESOURCE, request }] };
  const { body } = await service.call('POST', '', { body: bundle });
  const [entry] = (body as Bundle).entry!;
  expect(entry!.response).toMatchObject({ status: '201 Created', outcome: { issue: [WARNING] } });
  const validated = await service.call('POST', 'SearchParameter/$validate', { body: RESOURCE });
  expect((validated.body as OperationOutcome).issue).toContainEqual(WARNING);
});

test('mutations warn in extensions.outcome, if something was written', async () => {
  const ask = async (query: string, variables: object = {}): Promise<{ data: unknown; extensions?: unknown }> => {
    const { body } = await service.call('POST', '$graphql', { body: { query, variables }, headers: GRAPHQL });
    return body as { data: unknown; extensions?: unknown };
  };
  const create = 'mutation ($res: SearchParameterInput!) { SearchParameterCreate(res: $res) { id } }';
  const { resourceType: _, ...res } = RESOURCE;
  const created = await ask(create, { res });
  expect(created.extensions).toEqual({ outcome: { resourceType: 'OperationOutcome', issue: [WARNING] } });
  const { id } = (created.data as { SearchParameterCreate: { id: string } }).SearchParameterCreate;
  const failing = `mutation { SearchParameterDelete(id: "${id}") { id } PatientDelete(id: "nobody") { id } }`;
  expect((await ask(failing)).extensions).toBeUndefined();
  expect((await ask(`mutation { SearchParameterDelete(id: "${id}") { id } }`)).extensions).toBeUndefined();
  expect((await ask('{ SearchParameterList { id } }')).extensions).toBeUndefined();
});
