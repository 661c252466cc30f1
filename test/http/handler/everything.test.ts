import type { Bundle } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { put, resourceOf } from '../../support/kit.js';
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
  test('returns the compartment, patient first', async () => {
    expect(await record('Patient/p/$everything')).toEqual(WHOLE);
    expect(await record('Patient/q/$everything')).toEqual(['Patient/q', 'Observation/other']);
  });

  test.each([1, 2, 3, 5, 11, 12, 13])('returns pages of %d', async (count) => {
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

  test('can be limited by type and by time', async () => {
    expect(await record('Patient/p/$everything?_type=Observation,Condition&_count=3')).toEqual([
      'Condition/c',
      'Observation/o0',
      'Observation/o1',
    ]);
    expect(await record('Patient/p/$everything?_since=2999-01-01')).toEqual([]);
    expect(await record('Patient/p/$everything?_since=2001-01-01')).toEqual(WHOLE);
  });

  test('applies the rights of the caller: hidden resources, fields and references', async () => {
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

  test('makes at most one store call per type', async () => {
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
    ['_type=Medicine', 400],
    ['_cursor=Medication/1', 400],
    ['_cursor=Patient/../x', 400],
    ['_cursor=Patient', 400],
    ['_since=x', 400],
    ['_since=2020,2021', 400],
    ['name=x', 400],
  ])('refuses %s', async (query, status) => {
    expect((await service.call('GET', `Patient/p/$everything?${query}`)).status).toBe(status);
  });
});

describe('the resources that the record refers to', () => {
  const INTAKE = 'http://forms.example/intake';
  const subject = { reference: 'Patient/r' };
  beforeAll(async () => {
    const update = (resource: object): Promise<unknown> => service.trusted.update(resource as never);
    await update({ resourceType: 'Organization', id: 'org', name: 'Clinic' });
    await update({ resourceType: 'Practitioner', id: 'doc' });
    await update({ resourceType: 'Medication', id: 'med' });
    await update({ resourceType: 'Binary', id: 'scan', contentType: 'image/png', data: 'AAAA' });
    await update({ resourceType: 'Questionnaire', id: 'form', status: 'active', url: INTAKE });
    await update(patient({ id: 'r', managingOrganization: { reference: `${BASE}/Organization/org` } }));
    const request = {
      status: 'active',
      intent: 'order',
      medicationReference: { reference: 'Medication/med' },
      subject,
    };
    for (const id of ['m1', 'm2']) {
      await update({
        ...{ resourceType: 'MedicationRequest', id, requester: { reference: 'Practitioner/doc' } },
        ...request,
      });
    }
    const attachment = { contentType: 'image/png', url: 'Binary/scan' };
    await update({
      ...{ resourceType: 'DocumentReference', id: 'd', status: 'current' },
      subject,
      content: [{ attachment }],
    });
    await update({
      ...{ resourceType: 'QuestionnaireResponse', id: 'qr', status: 'completed' },
      subject,
      questionnaire: INTAKE,
    });
    await update({
      ...{ resourceType: 'Observation', id: 'ro', status: 'final', code: { text: 'x' }, subject },
      // In the record itself, in that of another patient, deleted, contained, elsewhere.
      focus: [{ reference: 'DocumentReference/d' }, { reference: 'Observation/other' }, { reference: 'Device/none' }],
      hasMember: [{ reference: '#in' }, { reference: 'https://elsewhere.example/Observation/1' }],
      contained: [{ resourceType: 'Observation', id: 'in', status: 'final', code: { text: 'y' } }],
    });
  });
  const RECORD = ['Patient/r', 'DocumentReference/d', 'MedicationRequest/m1', 'MedicationRequest/m2', 'Observation/ro'];
  const entries = async (query: string, as = 'admin'): Promise<Bundle> =>
    (await service.call('GET', `Patient/r/$everything?${query}`, { as })).body as Bundle;
  const named = ({ entry = [] }: Bundle, mode: string): string[] =>
    entry
      .filter(({ search }) => search?.mode === mode)
      .map(({ resource }) => `${resource!.resourceType}/${resource!.id}`);

  test('are returned with it, each once', async () => {
    const whole = await entries('');
    expect(named(whole, 'match')).toEqual([...RECORD, 'QuestionnaireResponse/qr']);
    expect(named(whole, 'include').sort()).toEqual([
      ...['Binary/scan', 'Medication/med', 'Observation/other', 'Organization/org', 'Practitioner/doc'],
      'Questionnaire/form',
    ]);
  });

  test('are returned with the page that refers to them', async () => {
    const page = await entries('_count=3');
    expect([named(page, 'match'), named(page, 'include').sort()]).toEqual([
      RECORD.slice(0, 3),
      ['Binary/scan', 'Medication/med', 'Organization/org', 'Practitioner/doc'],
    ]);
    const next = page.link!.find(({ relation }) => relation === 'next')!.url;
    const second = (await service.call('GET', next)).body as Bundle;
    expect([named(second, 'match'), named(second, 'include').sort()]).toEqual([
      [...RECORD.slice(3), 'QuestionnaireResponse/qr'],
      ['Medication/med', 'Observation/other', 'Practitioner/doc', 'Questionnaire/form'],
    ]);
  });

  test('are filtered by type and time like the record', async () => {
    const some = await entries('_type=Medication,Observation');
    expect([named(some, 'match'), named(some, 'include').sort()]).toEqual([
      ['Observation/ro'],
      ['Medication/med', 'Observation/other'],
    ]);
    const inside = await entries('_type=Observation');
    expect([named(inside, 'match'), named(inside, 'include')]).toEqual([['Observation/ro'], ['Observation/other']]);
    expect(named(await entries('_since=2999-01-01'), 'include')).toEqual([]);
  });

  test('are limited to those that the caller can see', async () => {
    const whole = await entries('', 'nurse');
    expect([named(whole, 'match'), named(whole, 'include')]).toEqual([['Patient/r', 'Observation/ro'], []]);
  });

  test('make pages shorter if they are many', async () => {
    const writes = Array.from({ length: 3 }, (_, list) =>
      Array.from({ length: 400 }, (_, index) => `Device/l${list}-${index}`),
    );
    await service.trusted.update(patient({ id: 'many' }));
    await service.store.commit(
      writes.flat().map((name) => put(resourceOf('Device', name.slice(7)), {}, service.project)),
    );
    for (const [index, names] of writes.entries()) {
      await service.trusted.update({
        ...{ resourceType: 'List', id: `l${index}`, status: 'current', mode: 'working' },
        ...{ subject: { reference: 'Patient/many' }, entry: names.map((reference) => ({ item: { reference } })) },
      } as never);
    }
    const first = (await service.call('GET', 'Patient/many/$everything')).body as Bundle;
    expect([named(first, 'match'), named(first, 'include').length]).toEqual([
      ['Patient/many', 'List/l0', 'List/l1'],
      800,
    ]);
    const next = first.link!.find(({ relation }) => relation === 'next')!.url;
    const second = (await service.call('GET', next)).body as Bundle;
    expect([named(second, 'match'), named(second, 'include').length]).toEqual([['List/l2'], 400]);
    expect(second.link!.map(({ relation }) => relation)).toEqual(['self']);
    await service.trusted.update({
      ...{ resourceType: 'List', id: 'l0', status: 'current', mode: 'working', subject: { reference: 'Patient/many' } },
      entry: writes.flat().map((reference) => ({ item: { reference } })),
    } as never);
    const page = (await service.call('GET', 'Patient/many/$everything?_count=1')).body as Bundle;
    const refused = await service.call('GET', page.link!.find(({ relation }) => relation === 'next')!.url);
    expect([refused.status, outcomeText(refused)]).toEqual([
      422,
      'List/l0 refers to more than 1000 resources; leave its type out by "_type"',
    ]);
    expect((await service.call('GET', 'Patient/many/$everything?_type=Patient,Observation')).status).toBe(200);
  });
});
