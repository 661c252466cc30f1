import { afterEach, expect, test } from 'vitest';
import type { FhirError } from '../../src/fhir/error.js';
import type { AnyResource } from '../../src/fhir/resource.js';
import { PACE } from '../../src/platform/pace.js';
import { ALL } from '../../src/search/criteria/criteria.js';
import type { Write } from '../../src/store/write.js';
import { MemoryStore } from '../../src/stores/memory/store.js';
import { createRandom } from '../../src/testing/random.js';
import { randomResources } from '../../src/testing/random-resources.js';
import { SEED } from '../support/chance.js';
import { countTurns } from '../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => void (PACE.turnMs = turnMs));

const store = (): MemoryStore => new MemoryStore({ clock: () => new Date(0) });
const put = (resource: AnyResource): Write => ({
  kind: 'put',
  key: { project: 'p', type: resource.resourceType, id: resource.id! },
  resource,
});
const patients = (count: number): Write[] =>
  Array.from({ length: count }, (_, index) => put({ resourceType: 'Patient', id: `p${index}` }));

test(`a long commit leaves what short ones leave (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const writes = [1, 2, 3, 4].flatMap(() => randomResources(random)).map(put);
  expect(writes.length).toBeGreaterThan(200);
  const [long, short] = [store(), store()];
  const results = await long.commit(writes);
  const expected = [];
  for (const write of writes) expected.push(...(await short.commit([write])));
  expect(results).toStrictEqual(expected);
  const keys = writes.flatMap((write) => (write.kind === 'put' ? [write.key] : []));
  expect(await long.read(keys)).toStrictEqual(await short.read(keys));
  expect(Object.isFrozen(results[0])).toBe(false);
  for (const type of new Set(keys.map((key) => key.type))) {
    const query = { project: 'p', type, criteria: ALL, sort: [], offset: 0, limit: 1_000 } as const;
    expect(await long.search(query)).toStrictEqual(await short.search(query));
  }
});

test('a long commit has other work between its resources, and none while it applies them', async () => {
  PACE.turnMs = 0;
  const { turns } = await countTurns(() => store().commit(patients(300)));
  expect(turns).toBeGreaterThan(300);
  const short = await countTurns(() => store().commit(patients(100)));
  expect(short.turns).toBe(0);
});

test('a long commit fails at the first write that fails, and leaves nothing', async () => {
  const circular: Record<string, unknown> = { resourceType: 'Patient', id: 'p250' };
  circular['in'] = circular;
  const one = store();
  await one.commit([put({ resourceType: 'Patient', id: 'p100' })]);
  const writes = patients(300);
  writes[250] = put(circular as unknown as AnyResource);
  writes[100] = { ...writes[100]!, expect: { version: null } } as Write;
  await expect(one.commit(writes)).rejects.toMatchObject({ code: 'precondition-failed', details: { index: 100 } });
  writes[100] = put({ resourceType: 'Patient', id: 'p100' });
  await expect(one.commit(writes)).rejects.toMatchObject({ code: 'unprocessable' });
  expect(await one.read([{ project: 'p', type: 'Patient', id: 'p0' }])).toEqual([{ status: 'missing' }]);
});

test('a long commit ends with its signal, and leaves nothing', async () => {
  PACE.turnMs = 0;
  const control = new AbortController();
  const one = store();
  setImmediate(() => control.abort());
  const failure = (await one.commit(patients(300), { signal: control.signal }).catch((error) => error)) as FhirError;
  expect(failure.code).toBe('aborted');
  expect(await one.read([{ project: 'p', type: 'Patient', id: 'p0' }])).toEqual([{ status: 'missing' }]);
});
