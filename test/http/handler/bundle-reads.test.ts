import { MedplumClient } from '@medplum/core';
import type { Bundle, OperationOutcome } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { openService, patient, type Service } from './open-service.js';

// Reads inside a Bundle are answered as the same requests by themselves, for every caller.

let service: Service;
beforeAll(async () => {
  service = await openService();
  const put = (resource: { readonly [name: string]: unknown }): Promise<unknown> =>
    service.call('PUT', `${String(resource['resourceType'])}/${String(resource['id'])}`, { body: resource });
  await put({ resourceType: 'Organization', id: 'org', name: 'Clinic' });
  const managingOrganization = { reference: 'Organization/org' };
  await put(patient({ id: 'ann', birthDate: '1980-01-01', managingOrganization }) as never);
  await put(patient({ id: 'ann', birthDate: '1980-01-02', managingOrganization }) as never);
  await put(patient({ id: 'bob', gender: 'male' }) as never);
  await put(patient({ id: 'gone' }) as never);
  await service.call('DELETE', 'Patient/gone');
  const subject = { reference: 'Patient/ann' };
  await put({ resourceType: 'Observation', id: 'o1', status: 'final', code: { text: 'Pulse' }, subject });
});

const URLS = [
  'Patient/ann',
  'Patient/ann?_elements=gender',
  'Patient/ann?_summary=true',
  'Patient/ann?_elements=nothing',
  'Patient/bob',
  'Patient/gone',
  'Patient/none',
  'Patient/ann/_history',
  'Patient/ann/_history?_count=1',
  'Patient/ann/_history?_at=1999&_count=x',
  'Patient/ann/_history?_since=2000',
  'Patient/gone/_history',
  'Patient/bob/_history',
  'Patient/none/_history',
  'Patient/ann/_history/1',
  'Patient/ann/_history/9',
  'Patient/_history?_count=2',
  'Patient/_history?_offset=2',
  'Patient',
  'Patient?_count=1&_sort=_id',
  'Patient?gender=female&_total=accurate',
  'Patient?_summary=count',
  'Patient?_fields=id,name,gender',
  'Patient?_include=Patient:organization&_revinclude=Observation:subject',
  'Observation?_include=*',
  'Patient?_include=nothing',
  'Patient?birthdate=1980-01-02',
  'Patient?_count=5000',
];

describe.each(['admin', 'nurse'])('for the %s', (as) => {
  test.each(URLS)('GET %s', async (url) => {
    const alone = await service.call('GET', url, { as });
    const body = { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url } }] };
    const answer = (await service.call('POST', '', { body, as })).body as Bundle;
    const { resource, response } = answer.entry![0]!;
    expect(response!.status).toMatch(new RegExp(`^${alone.status}\\b`));
    const isRead = alone.status === 200;
    expect(isRead ? resource : (response!.outcome as OperationOutcome).issue[0]!.code).toEqual(
      isRead ? alone.body : (alone.body as OperationOutcome).issue[0]!.code,
    );
  });
});

test('HEAD has only the status; a history of resources that the transaction deletes is there', async () => {
  const ask = async (type: string, entry: readonly object[]): Promise<Bundle> =>
    (await service.call('POST', '', { body: { resourceType: 'Bundle', type, entry } })).body as Bundle;
  const head = await ask('batch', [{ request: { method: 'HEAD', url: 'Patient/ann/_history' } }]);
  expect(head.entry).toEqual([{ response: { status: '200 OK' } }]);
  await service.call('PUT', 'Patient/tmp', { body: patient({ id: 'tmp' }) });
  const both = await ask('transaction', [
    { request: { method: 'DELETE', url: 'Patient/tmp' } },
    { request: { method: 'GET', url: 'Patient/tmp/_history' } },
  ]);
  expect((both.entry![1]!.resource as Bundle).entry!.map(({ request }) => request!.method)).toEqual(['DELETE', 'POST']);
});

test('accepts requests that MedplumClient puts into one batch by itself', async () => {
  let bundles = 0;
  const medplum = new MedplumClient({
    baseUrl: 'https://clinic.example/',
    autoBatchTime: 5,
    fetch: (url: string, init: RequestInit = {}) => {
      if (init.method === 'POST' && !url.endsWith('$graphql')) bundles += 1;
      const headers = new Headers(init.headers);
      headers.set('authorization', 'Bearer admin');
      return service.handler(new Request(url, { ...init, headers }));
    },
  });
  const none = medplum.readResource('Patient', 'none').then(
    () => 'found',
    () => 'rejected',
  );
  const [ann, found, history] = await Promise.all([
    medplum.readResource('Patient', 'ann'),
    medplum.searchResources('Patient', 'gender=female&_fields=id,gender&_count=5'),
    medplum.readHistory('Patient', 'ann'),
  ]);
  expect(ann.id).toBe('ann');
  expect(found.map(({ id }) => id)).toEqual(['ann']);
  expect([history.type, history.total]).toEqual(['history', 2]);
  expect(await none).toBe('rejected');
  expect(bundles).toBe(1);
});
