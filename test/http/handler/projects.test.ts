import type { Bundle, Project } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { openService } from './open-service.js';

test('only super administrators list, change, deactivate and delete projects', async () => {
  const service = await openService();
  const operator = { as: 'operator' as const };
  const body = { resourceType: 'Project', name: 'Annex' };
  const { id } = (await service.call('POST', '/fhir/R4/Project', { body, ...operator })).body as Project;
  const path = `/admin/projects/${id!}`;
  const nameOf = (answer: { readonly body: unknown }): unknown => (answer.body as Project).name;
  const list = await service.call('GET', '/admin/projects?name=annex', operator);
  expect([list.status, (list.body as Bundle<Project>).entry?.map(({ resource }) => resource?.id)]).toEqual([200, [id]]);
  expect(nameOf(await service.call('PATCH', path, { body: { name: 'New Annex' }, ...operator }))).toBe('New Annex');
  expect((await service.call('POST', `${path}/deactivate`, operator)).body).toMatchObject({ active: false });
  expect((await service.call('POST', `${path}/reactivate`, operator)).body).toMatchObject({ active: true });
  for (const [method, at] of [
    ['GET', '/admin/projects'],
    ['PATCH', path],
    ['DELETE', `${path}?name=New%20Annex`],
    ['POST', `${path}/deactivate`],
  ] as const) {
    const answer = await service.call(method, at, { as: 'nurse', ...(method === 'PATCH' ? { body: {} } : {}) });
    expect(answer.status).toBe(403);
  }
  expect((await service.call('DELETE', `${path}?name=Annex`, operator)).status).toBe(412);
  expect((await service.call('DELETE', `${path}?name=New%20Annex`, operator)).status).toBe(204);
  expect((await service.call('DELETE', `${path}?name=New%20Annex`, operator)).status).toBe(410);
});
