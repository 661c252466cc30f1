import type { Bundle, OperationOutcome, Subscription } from '@medplum/fhirtypes';
import { beforeAll, describe, expect, test } from 'vitest';
import { openService, outcomeText, patient, type Service } from './open-service.js';

const TEXT =
  'A Subscription has an effect from when the service sets its status to active; a service without notifications never does';

let service: Service;
beforeAll(async () => {
  service = await openService();
});

describe.each(['requested', 'off'] as const)('a Subscription that is %s warns that it may have no effect', (status) => {
  const subscription: Subscription = {
    resourceType: 'Subscription',
    status,
    reason: 'new results',
    criteria: 'Observation?status=final',
    channel: { type: 'rest-hook', endpoint: 'https://app.example/hook' },
  };

  test('over REST', async () => {
    const created = await service.call('POST', 'Subscription', { body: subscription });
    expect([created.status, created.headers.get('warning')]).toEqual([201, `199 - "${TEXT}"`]);
    const { id } = created.body as Subscription;
    const headers = { prefer: 'return=OperationOutcome' };
    const updated = await service.call('PUT', `Subscription/${id}`, { body: { ...subscription, id }, headers });
    expect(updated.text).toContain(TEXT);
    const patched = await service.call('PATCH', `Subscription/${id}`, { body: [] });
    expect(patched.headers.get('warning')).toContain(TEXT);
  });

  test('in Bundles, $validate and mutations', async () => {
    const request = { method: 'POST', url: 'Subscription' };
    for (const type of ['batch', 'transaction']) {
      const body = { resourceType: 'Bundle', type, entry: [{ resource: subscription, request }] };
      const answer = (await service.call('POST', '', { body })).body as Bundle;
      expect(answer.entry![0]!.response!.outcome as OperationOutcome).toMatchObject({
        issue: [{ severity: 'warning', details: { text: TEXT } }],
      });
    }
    expect((await service.call('POST', 'Subscription/$validate', { body: subscription })).text).toContain(TEXT);
    const { resourceType: _, ...res } = subscription;
    const query = 'mutation ($res: SubscriptionInput!) { SubscriptionCreate(res: $res) { id } }';
    const mutation = await service.call('POST', '$graphql', { body: { query, variables: { res } } });
    expect((mutation.body as { extensions?: unknown }).extensions).toMatchObject({
      outcome: { issue: [{ details: { text: TEXT } }] },
    });
  });
});

describe('Prefer: handling', () => {
  test.each(['handling=lenient', 'return=minimal, handling=lenient', 'Handling="Lenient"; x', 'handling = lenient'])(
    '%s is refused',
    async (prefer) => {
      for (const [method, path, body] of [
        ['GET', 'Patient?nonsense=1', undefined],
        ['GET', 'Patient?gender=female', undefined],
        ['POST', 'Patient', patient()],
      ] as const) {
        const answer = await service.call(method, path, { headers: { prefer }, ...(body && { body }) });
        expect([answer.status, outcomeText(answer)]).toEqual([
          400,
          'Of "Prefer: handling", only strict is supported: unknown parameters are refused',
        ]);
      }
    },
  );

  test.each(['handling=strict', 'return=minimal', 'respond-async', 'mishandling=lenient'])(
    '%s is no fault',
    async (prefer) => {
      expect((await service.call('GET', 'Patient?gender=female', { headers: { prefer } })).status).toBe(200);
    },
  );
});
