import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/index.js';
import { SqliteStore } from '../../../src/sqlite.js';
import type { ResourceKey } from '../../../src/store.js';
import { cases, SEED } from '../../support/chance.js';

const key = fc.record({
  project: fc.constantFrom('p', 'p', 'p', 'q', 'none'),
  type: fc.constantFrom('Patient', 'Patient', 'Patient', 'Observation', 'Group'),
  id: fc.constantFrom('a', 'b', 'c', 'gone', 'missing'),
});
const version = fc.constantFrom(undefined, undefined, '1', '2', '9', 'x');

test.each([0, 1_000_000])(
  'many keys in one read, of one type or of several, give the same results as single reads (cache of %i bytes)',
  async (cacheBytes) => {
    const store = new SqliteStore(':memory:', { cacheBytes });
    const write = (one: ResourceKey, gender: 'male' | 'female') =>
      store.commit([
        { kind: 'put', key: one, resource: { resourceType: one.type, id: one.id, gender } as AnyResource },
      ]);
    for (const project of ['p', 'q']) {
      for (const type of ['Patient', 'Observation']) {
        for (const id of ['a', 'b', 'c', 'gone']) await write({ project, type, id }, 'male');
        await write({ project, type, id: 'b' }, 'female');
        await store.commit([{ kind: 'delete', key: { project, type, id: 'gone' } }]);
      }
    }
    const oneType = fc.array(fc.tuple(key, version), { minLength: 2, maxLength: 6 }).map((list) => {
      const [first] = list;
      return list.map(([{ id }, of]) => ({ ...first![0], id, ...(of === undefined ? {} : { version: of }) }));
    });
    const severalTypes = fc
      .array(fc.tuple(key, version), { minLength: 2, maxLength: 6 })
      .map((list) => list.map(([one, of]) => ({ ...one, ...(of === undefined ? {} : { version: of }) })));
    await fc.assert(
      fc.asyncProperty(fc.oneof(oneType, severalTypes), async (keys) => {
        const together = await store.read(keys);
        const alone = await Promise.all(keys.map(async (one) => (await store.read([one]))[0]));
        expect(together).toEqual(alone);
      }),
      { seed: SEED, numRuns: cases(1000, 150) },
    );
    await store.close();
  },
);
