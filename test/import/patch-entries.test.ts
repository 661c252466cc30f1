import type { BundleEntry } from '@medplum/fhirtypes';
import { expect, test } from 'vitest';
import { createRepository, MemoryStore, systemCaller, type Repository } from 'fhirgraph';

function open(): Repository {
  return createRepository({ store: new MemoryStore(), caller: systemCaller('clinic') });
}

function patchOf(url: string, operations: readonly object[]): BundleEntry {
  const data = btoa(JSON.stringify(operations));
  return {
    request: { method: 'PATCH', url },
    resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data },
  };
}

test('a patch in a transaction is applied to what is stored, with all other entries or none', async () => {
  const repository = open();
  await repository.update({ resourceType: 'Patient', id: 'ann', gender: 'female' });
  const send = (...entry: BundleEntry[]): Promise<unknown> =>
    repository.transaction({ resourceType: 'Bundle', type: 'transaction', entry });
  const born = patchOf('Patient/ann', [{ op: 'add', path: '/birthDate', value: '1990-01-01' }]);
  await expect(send(born, patchOf('Patient/none', []))).rejects.toMatchObject({
    code: 'not-found',
    issues: [{ expression: ['Bundle.entry[1].resource'] }],
  });
  expect((await repository.read('Patient', 'ann')).meta?.versionId).toBe('1');
  await send(born);
  await send(patchOf('Patient?gender=female', [{ op: 'replace', path: '/gender', value: 'other' }]));
  expect(await repository.read('Patient', 'ann')).toMatchObject({ gender: 'other', birthDate: '1990-01-01' });
  await expect(send(born, born)).rejects.toMatchObject({ code: 'invalid' });
  await expect(send(patchOf('Patient/ann', [{ op: 'replace', path: '/id', value: 'x' }]))).rejects.toMatchObject({
    code: 'invalid',
  });
});

test('the patches of many batches at once are all applied', async () => {
  const repository = open();
  await repository.update({ resourceType: 'Patient', id: 'ann', given: [] } as never);
  const send = (value: number): Promise<unknown> =>
    repository.transaction({
      resourceType: 'Bundle',
      type: 'batch',
      entry: [patchOf('Patient/ann', [{ op: 'add', path: '/identifier', value: [{ value: String(value) }] }])],
    });
  await Promise.all([1, 2, 3, 4].map(send));
  expect((await repository.read('Patient', 'ann')).meta?.versionId).toBe('5');
});
