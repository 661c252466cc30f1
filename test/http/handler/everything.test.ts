import type { Bundle } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { BASE, openService, outcomeText, patient, type Service } from './open-service.js';

let service: Service;
beforeAll(async () => {
  service = await openService();
  const { trusted } = service;
  const subject = { reference: 'Patient/p' };
  const code = { text: 'x' };
  const active = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/condition-clinical', code: 'active' }] };
  await trusted.update(patient({ id: 'p', birthDate: '1980-01-01' }));
  await trusted.update(patient({ id: 'q', gender: 'male' }));
  for (let index = 0; index < 5; index++) {
    await trusted.update({ resourceType: 'Observation', id: `o${index}`, status: 'final', code, subject });
    await trusted.update({ resourceType: 'Encounter', id: `e${index}`, status: 'finished', class: {}, subject });
  }
  await trusted.update({ resourceType: 'Condition', id: 'c', clinicalStatus: active, subject });
  await trusted.update({
    resourceType: 'Observation',
    id: 'other',
    status: 'final',
    code,
    subject: { reference: 'Patient/q' },
  });
});

const record = async (path: string, as = 'admin'): Promise<string[]> => {
  const { body } = await service.call('GET', path, { as });
  return ((body as Bundle).entry ?? []).map(({ resource }) => `${resource!.resourceType}/${resource!.id}`);
};

const WHOLE = [
  'Patient/p',
  'Condition/c',
  ...['e0', 'e1', 'e2', 'e3', 'e4'].map((id) => `Encounter/${id}`),
  ...['o0', 'o1', 'o2', 'o3', 'o4'].map((id) => `Observation/${id}`),
];

describe('Patient/$everything', () => {
  test('is the compartment, patient first', async () => {
    expect(await record('Patient/p/$everything')).toEqual(WHOLE);
    expect(await record('Patient/q/$everything')).toEqual(['Patient/q', 'Observation/other']);
  });

  test.each([1, 2, 3, 5, 11, 12, 13])('in pages of %d', async (count) => {
    let url = `${BASE}/Patient/p/$everything?_count=${count}`;
    const found: string[] = [];
    let pages = 0;
    for (; url !== ''; pages += 1) {
      const page = (await service.call('GET', url)).body as Bundle;
      expect(page.entry!.length).toBeLessThanOrEqual(count);
      found.push(...page.entry!.map(({ fullUrl }) => fullUrl!.slice(BASE.length + 1)));
      url = page.link?.find(({ relation }) => relation === 'next')?.url ?? '';
    }
    expect(found).toEqual(WHOLE);
    expect(pages).toBe(Math.ceil(WHOLE.length / count));
  });

  test('by type and by time', async () => {
    expect(await record('Patient/p/$everything?_type=Observation,Condition&_count=3')).toEqual([
      'Condition/c',
      'Observation/o0',
      'Observation/o1',
    ]);
    expect(await record('Patient/p/$everything?_since=2999-01-01')).toEqual([]);
    expect(await record('Patient/p/$everything?_since=2001-01-01')).toEqual(WHOLE);
    expect(await record('Patient/p/$everything?_type=Condition&_cursor=Encounter/e1')).toEqual([]);
  });

  test('under the rights of the caller: hidden resources, fields and references', async () => {
    // The nurse does not see whom a Condition is about, and no Encounter at all.
    expect(await record('Patient/p/$everything', 'nurse')).toEqual(
      WHOLE.filter((one) => /Patient|Observation/.test(one)),
    );
    const { body } = await service.call('GET', 'Patient/p/$everything', { as: 'nurse' });
    expect((body as Bundle).entry![0]!.resource).not.toHaveProperty('birthDate');
    const hidden = await service.call('GET', 'Patient/q/$everything', { as: 'nurse' });
    const missing = await service.call('GET', 'Patient/m/$everything', { as: 'nurse' });
    expect([hidden.status, missing.status]).toEqual([404, 404]);
    expect(outcomeText(hidden)!.replace('Patient/q', 'Patient/m')).toBe(outcomeText(missing));
  });

  test('asks the store at most once per type', async () => {
    const search = vi.spyOn(service.store, 'search');
    await record('Patient/p/$everything?_count=4');
    expect(
      search.mock.calls
        .map(([{ type, limit }]) => [type, limit])
        .filter(([type]) => WHOLE.some((one) => one.startsWith(`${type}/`))),
    ).toEqual([
      ['Patient', 5],
      ['Condition', 4],
      ['Encounter', 3],
    ]);
    search.mockRestore();
  });

  test.each([
    ['_count=0', 400],
    ['_count=1001', 422],
    ['_count=1&_count=2', 400],
    ['_type=Medication', 400],
    ['_cursor=Medication/1', 400],
    ['_cursor=Patient/../x', 400],
    ['_cursor=Patient', 400],
    ['_since=x', 400],
    ['name=x', 400],
  ])('refuses %s', async (query, status) => {
    expect((await service.call('GET', `Patient/p/$everything?${query}`)).status).toBe(status);
  });
});
