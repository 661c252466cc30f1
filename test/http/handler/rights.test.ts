import type { CapabilityStatement, Patient } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFhirHandler } from '../../../src/http.js';
import { systemCaller } from '../../../src/index.js';
import { storeWith } from '../../support/store-with.js';
import { BASE, openService, outcomeText, patient, send, type Service } from './open-service.js';

let service: Service;
beforeAll(async () => {
  service = await openService();
  await service.trusted.update(patient({ id: 'seen', birthDate: '1980-01-01' }));
  await service.trusted.update(
    patient({ id: 'hide', gender: 'male', identifier: [{ system: 'urn:x', value: 'hide' }] }),
  );
});

const PATCH = [{ op: 'add', path: '/active', value: true }];

/** A request about a resource, by its id. */
const ABOUT: readonly (readonly [method: string, path: (id: string) => string, body?: (id: string) => unknown])[] = [
  ['GET', (id) => `Patient/${id}`],
  ['HEAD', (id) => `Patient/${id}`],
  ['GET', (id) => `Patient/${id}/_history`],
  ['GET', (id) => `Patient/${id}/_history/1`],
  ['GET', (id) => `Patient/${id}/$everything`],
  ['GET', (id) => `Patient/${id}/$graphql?query={id}`],
  ['GET', (id) => `Patient?_id=${id}&_total=accurate`],
  ['GET', (id) => `Patient?identifier=urn:x|${id}&_total=accurate`],
  ['POST', (id) => `Patient/_search?_id=${id}`, () => ''],
  ['PUT', (id) => `Patient/${id}`, (id) => patient({ id })],
  ['PUT', (id) => `Patient?identifier=urn:x|${id}`, (id) => patient({ id })],
  ['PATCH', (id) => `Patient/${id}`, () => PATCH],
  ['PATCH', (id) => `Patient?identifier=urn:x|${id}`, () => PATCH],
  ['DELETE', (id) => `Patient/${id}`],
  ['DELETE', (id) => `Patient?identifier=urn:x|${id}`],
  [
    'POST',
    () => '',
    (id) => ({ resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: `Patient/${id}` } }] }),
  ],
];

describe('an invisible resource', () => {
  test.each(ABOUT.map((one) => [`${one[0]} ${one[1](':id')}`, one] as const))(
    'is answered like a missing resource: %s',
    async (_, [method, path, body]) => {
      const answers = await Promise.all(
        ['hide', 'lost'].map(async (id) => {
          const form = path(id).includes('_search') ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
          const sent = await Promise.all(
            [{}, ...(method === 'PUT' ? [{ 'if-match': 'W/"1"' }, { 'if-none-match': '*' }] : [])].map((more) =>
              service.call(method, path(id), { as: 'nurse', body: body?.(id), headers: { ...form, ...more } }),
            ),
          );
          return sent.map(({ status, headers, text }) => ({
            status,
            headers: [...headers],
            text: text.replaceAll(id, ':id'),
          }));
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
    },
  );

  test('is found and changed by the requests above for callers who see it', async () => {
    for (const [method, path, body] of ABOUT.slice(0, 6)) {
      const { status } = await service.call(method, path('hide'), { body: body?.('hide') });
      expect([method, path('hide'), status]).toEqual([method, path('hide'), 200]);
    }
    expect((await service.trusted.read('Patient', 'hide')).meta.versionId).toBe('1');
  });

  test('fields are absent, and the entity tag is unchanged', async () => {
    const read = await service.call('GET', 'Patient/seen', { as: 'nurse' });
    expect((read.body as Patient).birthDate).toBeUndefined();
    expect(read.headers.get('etag')).toBe('W/"1"');
    expect((await service.call('GET', 'Patient?birthdate=1980', { as: 'nurse' })).body).not.toHaveProperty('entry');
  });
});

describe('metadata', () => {
  const statement = async (as: string | null): Promise<CapabilityStatement> =>
    (await service.call('GET', 'metadata', { as })).body as CapabilityStatement;
  const resources = async (as: string): Promise<{ [type: string]: string[] }> =>
    Object.fromEntries(
      (await statement(as)).rest![0]!.resource!.map(({ type, interaction }) => [
        type,
        interaction!.map(({ code }) => code),
      ]),
    );

  test('names no types to callers without a token', async () => {
    const open = await statement(null);
    expect(open).toMatchObject({
      kind: 'instance',
      fhirVersion: '4.0.1',
      implementation: { url: 'https://clinic.example/fhir/R4' },
    });
    expect(open.rest![0]).not.toHaveProperty('resource');
    // An invalid token counts as no token.
    expect((await service.call('GET', 'metadata', { headers: { authorization: 'Bearer nobody' } })).status).toBe(200);
  });

  test('names the interactions that the caller can use', async () => {
    expect(await resources('nurse')).toEqual({
      Condition: [
        'read',
        'vread',
        'search-type',
        'history-instance',
        'history-type',
        'create',
        'update',
        'patch',
        'delete',
      ],
      Observation: ['read', 'vread', 'search-type', 'history-instance', 'history-type'],
      Patient: [
        'read',
        'vread',
        'search-type',
        'history-instance',
        'history-type',
        'create',
        'update',
        'patch',
        'delete',
      ],
    });
    expect((await statement('nurse')).rest![0]!.interaction).toContainEqual({ code: 'history-system' });
    const all = await resources('admin');
    // R4 has no code for Medplum's types.
    expect(all).not.toHaveProperty('User');
    expect(Object.keys(all).length).toBeGreaterThan(140);
    const nurse = (await statement('nurse')).rest![0]!.resource!;
    expect(nurse.map(({ updateCreate }) => updateCreate)).toEqual([false, false, false]);
    const patients = nurse.find(({ type }) => type === 'Patient')!;
    expect(patients.searchParam).toContainEqual({ name: 'family', type: 'string' });
    expect(patients.operation?.map(({ name }) => name)).toEqual(['everything', 'validate']);
  });

  test('names the history of a type only if the store lists it', async () => {
    const methods = storeWith(service.store, {});
    const handler = createFhirHandler({ store: methods, baseUrl: BASE, audit: false, signIn: () => systemCaller('x') });
    const { body } = await send(handler, 'GET', 'metadata');
    const { rest } = body as CapabilityStatement;
    const { interaction } = rest![0]!.resource!.find(({ type }) => type === 'Patient')!;
    expect(interaction!.map(({ code }) => code)).toContain('history-instance');
    expect(interaction!.map(({ code }) => code)).not.toContain('history-type');
    expect(rest![0]!.interaction).not.toContainEqual({ code: 'history-system' });
    const answer = await send(handler, 'GET', 'Patient/_history');
    expect([answer.status, outcomeText(answer)]).toEqual([
      400,
      'The store of this service does not list the history of a type',
    ]);
  });

  test('is valid', async () => {
    const body = await statement('admin');
    const answer = await service.call('POST', 'CapabilityStatement/$validate', { body });
    expect(answer.body).toMatchObject({ issue: [{ severity: 'information' }] });
  });
});
