import { expect, test } from 'vitest';
import type { Criteria } from '../../../src/search/criteria/criteria.js';
import type { Write } from '../../../src/store/write.js';
import { MemoryStore } from '../../../src/stores/memory/store.js';
import { createRandom } from '../../../src/testing/random.js';
import { SEED } from '../../support/chance.js';

const put = (id: string, ...codes: string[]): Write => ({
  kind: 'put',
  key: { project: 'p', type: 'Patient', id },
  resource: { resourceType: 'Patient', id, ...{ identifier: codes.map((value) => ({ value })) } },
});
const withCode = (code: string): Criteria => ({
  kind: 'match',
  parameter: 'identifier',
  test: { kind: 'token', code },
});

test('a conditional creation looks at as many resources in a long transaction as in a short one', async () => {
  const looksAt = async (count: number): Promise<number> => {
    const store = new MemoryStore();
    const round = (name: string, criteriaOf = withCode): readonly Write[] =>
      Array.from({ length: count }, (_, index): readonly Write[] => [
        { kind: 'assert-no-match', query: { project: 'p', type: 'Patient', criteria: criteriaOf(`${name}${index}`) } },
        put(`${name}${index}`, `${name}${index}`),
      ]).flat();
    await store.commit(round('first'));
    let looks = 0;
    const watched = (code: string): Criteria =>
      new Proxy(withCode(code), {
        get: (target, name) => {
          if (name === 'test') looks += 1;
          return Reflect.get(target, name) as unknown;
        },
      });
    await store.commit(round('second', watched));
    return looks / count;
  };
  expect(await looksAt(200)).toBe(await looksAt(20));
});

test(`searches by code find what is there, whatever was written, deleted and taken back (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const oneOf = (limit: number): string => String(Math.floor(random() * limit));
  const store = new MemoryStore();
  const current = new Map<string, readonly string[]>();
  const found = async (code: string): Promise<readonly string[]> => {
    const page = await store.search({ project: 'p', type: 'Patient', criteria: withCode(code) });
    return page.matches.map(({ resource }) => resource.id!);
  };
  for (let round = 0; round < 300; round += 1) {
    const id = oneOf(40);
    const codes = [oneOf(30), oneOf(30)].slice(random() < 0.5 ? 1 : 0);
    const chance = random();
    if (chance < 0.2) {
      await store.commit([{ kind: 'delete', key: { project: 'p', type: 'Patient', id } }]);
      current.delete(id);
    } else if (chance < 0.4) {
      const failing = {
        kind: 'assert-no-match',
        query: { project: 'p', type: 'Patient', criteria: { kind: 'all' } },
      } as const;
      await expect(store.commit([put(id, ...codes), failing])).rejects.toMatchObject({ code: 'conflict' });
    } else {
      await store.commit([put(id, ...codes)]);
      current.set(id, codes);
    }
    const asked = oneOf(30);
    const expected = [...current].flatMap(([one, held]) => (held.includes(asked) ? [one] : []));
    expect([round, await found(asked)]).toEqual([round, expected.toSorted()]);
    const { matches } = await store.search({ project: 'p', type: 'Patient', criteria: { kind: 'all' } });
    expect(matches.map(({ resource }) => resource.id)).toEqual([...current.keys()].toSorted());
  }
});
