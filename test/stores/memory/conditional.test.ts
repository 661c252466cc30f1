import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/index.js';
import type { Criteria, Write } from '../../../src/store.js';
import { createRandom } from '../../support/kit.js';
import { SEED } from '../../support/chance.js';

const put = (id: string, ...codes: string[]): Write => ({
  kind: 'put',
  key: { project: 'p', type: 'Patient', id },
  resource: {
    resourceType: 'Patient',
    id,
    ...{ identifier: codes.map((value) => ({ value })), name: codes.map((family) => ({ family })) },
  },
});
const withCode = (code: string): Criteria => ({
  kind: 'match',
  parameter: 'identifier',
  test: { kind: 'token', code },
});

const withFamily = (family: string): Criteria => ({
  kind: 'match',
  parameter: 'family',
  test: { kind: 'string', comparator: 'starts-with', text: family },
});

test.each([
  ['code', withCode],
  ['string', withFamily],
])(
  'a conditional creation by a %s looks at as many resources in a long transaction as in a short one',
  async (_, of) => {
    const looksAt = async (count: number): Promise<number> => {
      const store = new MemoryStore();
      const round = (name: string, criteriaOf = of): readonly Write[] =>
        Array.from({ length: count }, (_, index): readonly Write[] => [
          {
            kind: 'assert-no-match',
            query: { project: 'p', type: 'Patient', criteria: criteriaOf(`${name}${index}`) },
          },
          put(`${name}${index}`, `${name}${index}`),
        ]).flat();
      await store.commit(round('first'));
      let looks = 0;
      const watched = (code: string): Criteria =>
        new Proxy(of(code), {
          get: (target, name) => {
            if (name === 'test') looks += 1;
            return Reflect.get(target, name) as unknown;
          },
        });
      await store.commit(round('second', watched));
      return looks / count;
    };
    expect(await looksAt(200)).toBe(await looksAt(20));
  },
);

test(`searches by code and by text find what is there, whatever was written, deleted and taken back (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const oneOf = (limit: number): string => String(Math.floor(random() * limit));
  const store = new MemoryStore();
  const current = new Map<string, readonly string[]>();
  const found = async (criteria: Criteria): Promise<readonly string[]> => {
    const page = await store.search({ project: 'p', type: 'Patient', criteria });
    return page.matches.map(({ resource }) => resource.id!);
  };
  const withText = (comparator: 'equals' | 'exact' | 'starts-with', text: string): Criteria => ({
    kind: 'match',
    parameter: 'family',
    test: { kind: 'string', comparator, text },
  });
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
    const having = (isIt: (text: string) => boolean): readonly string[] =>
      [...current].flatMap(([one, held]) => (held.some(isIt) ? [one] : [])).toSorted();
    const same = having((text) => text === asked);
    expect([round, await found(withCode(asked))]).toEqual([round, same]);
    expect([round, await found(withText('equals', asked))]).toEqual([round, same]);
    expect([round, await found(withText('exact', asked))]).toEqual([round, same]);
    const starting = having((text) => text.startsWith(asked));
    expect([round, await found(withText('starts-with', asked))]).toEqual([round, starting]);
    expect(await found({ kind: 'all' })).toEqual([...current.keys()].toSorted());
  }
});
