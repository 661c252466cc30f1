import type { Bundle } from '@medplum/fhirtypes';
import { describe, expect, test } from 'vitest';
import { createRepository, importBundle, MemoryStore, systemCaller } from '../../src/index.js';
import { ask, batch, memoryContext, PROJECT, put, transaction } from './harness.js';

const PATIENT = { resourceType: 'Patient', id: 'p' };
const READS = [ask('GET', 'Patient/p'), ask('GET', 'Patient/p/_history/1'), ask('GET', 'Patient?_id=p')];

/** The resources of a response, including those inside a searchset. */
function resourcesIn({ entry }: Bundle): readonly { readonly id?: string; readonly meta?: object }[] {
  return (entry ?? []).flatMap(({ resource }) =>
    resource === undefined ? [] : resource.resourceType === 'Bundle' ? resourcesIn(resource) : [resource],
  );
}

describe.each([
  ['transaction', transaction],
  ['batch', batch],
])("Medplum's meta.project in the results of GET entries of a %s", (_type, bundle) => {
  test('is there only on request', async () => {
    const context = memoryContext();
    await importBundle(transaction(put(PATIENT)), context);
    for (const extendedMeta of [undefined, false, true]) {
      const { bundle: response } = await importBundle(bundle(...READS), { ...context, extendedMeta });
      const read = resourcesIn(response);
      expect(read.map(({ id }) => id)).toEqual(['p', 'p', 'p']);
      const names = ['lastUpdated', ...(extendedMeta === true ? ['project'] : []), 'versionId'];
      for (const { meta } of read) expect(Object.keys(meta!).sort()).toEqual(names);
    }
  });

  test('is there in a repository only on request, inside searchsets too', async () => {
    const store = new MemoryStore();
    const caller = systemCaller(PROJECT);
    await importBundle(transaction(put(PATIENT)), { store, caller });
    for (const extendedMeta of [undefined, true]) {
      const repository = createRepository({ store, caller, extendedMeta });
      const read = resourcesIn(await repository.transaction(bundle(...READS) as Bundle));
      expect(read.map(({ meta }) => Object.hasOwn(meta!, 'project'))).toEqual(Array(3).fill(extendedMeta === true));
    }
  });
});
