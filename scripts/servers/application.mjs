// A test of an application with the packed package, for Jest and node:test.
import assert from 'node:assert/strict';
import { MedplumClient } from '@medplum/core';
import { createTestService } from 'fhirgraph/test-service';

const test = globalThis.test ?? (await import('node:test')).default;

test('a nurse of the ward sees its patients only', async () => {
  const service = await createTestService({
    data: [
      { resourceType: 'Patient', id: 'ann', gender: 'female' },
      { resourceType: 'Patient', id: 'bob', gender: 'male' },
    ],
    policies: { ward: { resource: [{ resourceType: 'Patient', criteria: 'Patient?gender=female' }] } },
    now: new Date('2030-01-01T08:00:00Z'),
  });
  const nurse = await service.member('ward');
  const medplum = new MedplumClient({ baseUrl: service.clientUrl, fetch: service.fetchAs(nurse) });
  assert.equal((await medplum.searchResources('Patient')).map(({ id }) => id).join(), 'ann');
  await service.close();
});
