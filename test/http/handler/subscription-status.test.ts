import type { Bundle, CapabilityStatement, Parameters, Subscription } from '@medplum/fhirtypes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deliverSubscriptions, MemoryStore } from '../../../src/index.js';
import { until } from '../../support/until.js';
import { BASE, openService, outcomeText, patient, type Service } from './open-service.js';

let service: Service;
let id: string;
const over = new AbortController();
let delivering: Promise<void>;

beforeAll(async () => {
  const store = new MemoryStore();
  service = await openService({ store });
  delivering = deliverSubscriptions({ store, deliver: () => undefined, signal: over.signal, baseUrl: BASE });
  const subscription: Subscription = {
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'admissions',
    criteria: 'Patient',
    channel: { type: 'rest-hook', endpoint: 'https://app.example/hook' },
  };
  ({ id } = (await service.call('POST', 'Subscription', { body: subscription })).body as { id: string });
  await until(async () => ((await service.trusted.read('Subscription', id)).status as string) === 'active');
  for (const _ of [1, 2]) await service.call('POST', 'Patient', { body: patient() });
  await until(
    async () => (await statusOf(`Subscription/${id}/$status`))[0]!['events-since-subscription-start'] === '2',
  );
  await service.call('POST', 'Subscription', { body: { ...subscription, status: 'off' } });
});

afterAll(async () => {
  over.abort();
  await delivering;
});

/** The parameters of each entry. */
async function statusOf(path: string, body?: unknown): Promise<{ readonly [name: string]: unknown }[]> {
  const answer = await service.call(body === undefined ? 'GET' : 'POST', path, { body });
  expect([answer.status, (answer.body as Bundle).type]).toEqual([200, 'searchset']);
  return ((answer.body as Bundle).entry ?? []).map(({ resource }) => {
    const { parameter } = resource as Parameters;
    return Object.fromEntries(
      parameter!.map(({ name, valueReference, valueCode, valueString }) => [
        name,
        valueReference?.reference ?? valueCode ?? valueString,
      ]),
    );
  });
}

describe('$status of a Subscription', () => {
  test('has its status and the number of its events', async () => {
    const status = {
      subscription: `${BASE}/Subscription/${id}`,
      status: 'active',
      type: 'query-status',
      'events-since-subscription-start': '2',
    };
    expect(await statusOf(`Subscription/${id}/$status`)).toEqual([status]);
    expect(await statusOf(`Subscription/${id}/$status`, { resourceType: 'Parameters' })).toEqual([status]);
    expect(await statusOf(`Subscription/$status?id=${id}`)).toEqual([status]);
    const parameter = [
      { name: 'id', valueId: id },
      { name: 'id', valueId: 'another' },
      { name: 'status', valueCode: 'active' },
    ];
    expect(await statusOf('Subscription/$status', { resourceType: 'Parameters', parameter })).toEqual([status]);
  });

  test('selects by status, and lists all that the caller can read', async () => {
    expect((await statusOf('Subscription/$status')).map(({ status }) => status).toSorted()).toEqual(['active', 'off']);
    expect((await statusOf('Subscription/$status?status=off,error')).map(({ status }) => status)).toEqual(['off']);
    expect(await statusOf('Subscription/$status?id=nobody')).toEqual([]);
    const unknown = await service.call('GET', 'Subscription/$status?subject=x');
    expect([unknown.status, outcomeText(unknown)]).toEqual([400, 'Unknown parameter "subject" of the operation']);
  });

  test('does not exist for those who cannot read it', async () => {
    expect((await service.call('GET', `Subscription/${id}/$status`, { as: 'nurse' })).status).toBe(404);
    expect((await service.call('GET', 'Subscription/$status', { as: 'nurse' })).body).not.toHaveProperty('entry');
    expect((await service.call('GET', `Subscription/${id}/$status`, { as: null })).status).toBe(401);
  });

  test('has no status where that is hidden from the caller', async () => {
    const { entry } = await service.trusted.search('AccessPolicy', { name: 'Ward' });
    const ward = entry![0]!.resource!;
    const rule = { resourceType: 'Subscription', hiddenFields: ['status', 'error'] };
    await service.trusted.update({ ...ward, resource: [...ward.resource!, rule] });
    const { body } = await service.call('GET', `Subscription/${id}/$status`, { as: 'nurse' });
    const { parameter } = (body as Bundle<Parameters>).entry![0]!.resource!;
    expect(parameter!.map(({ name }) => name)).toEqual(['subscription', 'type', 'events-since-subscription-start']);
    await service.trusted.update(ward);
  });

  test('is advertised', async () => {
    const { rest } = (await service.call('GET', 'metadata')).body as CapabilityStatement;
    expect(rest![0]!.resource!.find(({ type }) => type === 'Subscription')!.operation).toContainEqual({
      name: 'status',
      definition: 'http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-status',
    });
  });
});
