import assert from 'node:assert/strict';
import type { AnyResource } from '../../fhir/resource.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import { createSubject } from '../../search/evaluate/search-subject.js';
import { endOf, positionOf, type SearchPosition } from '../../search/evaluate/sort.js';
import type { SearchPage, SearchQuery } from '../../store/search-query.js';
import type { ResourceStore } from '../../store/store.js';
import type { Write } from '../../store/write.js';
import { type ConformanceSuite, idsOf, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';
import { below, oneOf } from '../random.js';

const SORTS: readonly (readonly SortKey[] | undefined)[] = [
  undefined,
  [{ parameter: '_id', descending: true }],
  [{ parameter: 'birthdate', descending: false }],
  [{ parameter: 'birthdate', descending: true }],
  [
    { parameter: 'gender', descending: true },
    { parameter: 'family', descending: false },
    { parameter: 'birthdate', descending: true },
  ],
  [
    { parameter: '_lastUpdated', descending: true },
    { parameter: 'family', descending: true },
  ],
];

/** `after` and `before`: pages bound to a position. */
export const positionSuite: ConformanceSuite = {
  name: 'positions',
  cases: [
    {
      name: 'lead through every match once, in either direction, by any sort',
      async run(store, random) {
        await putAll(store, ...patients(40, random));
        for (const sort of SORTS) {
          const all = await idsOf(store, queryOf('Patient', undefined, { sort }));
          const message = JSON.stringify(sort);
          assert.deepEqual(await walk(store, { sort, limit: 7 }, 'after'), all, message);
          assert.deepEqual(await walk(store, { sort, limit: 7 }, 'before'), all, message);
        }
      },
    },
    {
      name: 'lead through texts by code point',
      async run(store) {
        // In the order of UTF-16 units, \u{1f600} comes before the two others.
        const texts = ['\u{1f600}', '\ufd3en', '\ufffdz', '\u{1f600} z', '\ue000'];
        const inOrder = ['p4', 'p1', 'p2', 'p0', 'p3'];
        await putAll(
          store,
          ...texts.map((text, index) =>
            resourceOf('Patient', `p${index}`, { name: [{ family: text }], identifier: [{ value: text }] }),
          ),
        );
        for (const parameter of ['family', 'identifier']) {
          for (const descending of [false, true]) {
            const page = { sort: [{ parameter, descending }], limit: 2 };
            const all = descending ? inOrder.toReversed() : inOrder;
            assert.deepEqual(await walk(store, page, 'after'), all, parameter);
            assert.deepEqual(await walk(store, page, 'before'), all, parameter);
          }
        }
      },
    },
    {
      name: 'neither skip nor repeat what stays while other resources come and go',
      async run(store, random, effort) {
        let next = 0;
        for (const sort of SORTS.slice(effort < 0.1 ? -1 : effort < 1 ? -3 : 0)) {
          const staying = patients(25, random);
          await putAll(store, ...staying, ...patients(25, random, 'going'));
          let changes = 0;
          const change = async (): Promise<void> => {
            if (changes++ > 12) return;
            const coming = patients(2, random, `coming-${next++}`).map((resource) => put(resource));
            const id = oneOf(await idsOf(store, queryOf('Patient')), random)!;
            const going: Write[] = id.startsWith('p') ? [] : [{ kind: 'delete', key: keyOf('Patient', id) }];
            await store.commit([...coming, ...going]);
          };
          for (const direction of ['after', 'before'] as const) {
            changes = 0;
            const seen = await walk(store, { sort, limit: 3 }, direction, change);
            const kept = seen.filter((id) => id.startsWith('p'));
            assert.deepEqual(kept.toSorted(), staying.map(({ id }) => id).toSorted(), JSON.stringify(sort));
            assert.equal(new Set(seen).size, seen.length);
          }
          // The pages of the next sort are not to grow by what came in this one.
          const others = (await idsOf(store, queryOf('Patient'))).filter((id) => id?.startsWith('p') !== true);
          await store.commit(others.map((id) => ({ kind: 'delete', key: keyOf('Patient', id!) })));
        }
      },
    },
    {
      name: 'may have values of keys that no resource has one of',
      async run(store) {
        const named = (id: string, name?: string): AnyResource =>
          resourceOf('Location', id, name === undefined ? {} : { name });
        await putAll(store, named('a', 'x'), named('b', 'y'), named('c', 'y'), named('d', 'z'), named('e'));
        for (const descending of [false, true]) {
          // A place has no order, and no location here has an address.
          for (const parameter of ['near', 'address']) {
            const sort = ['name', parameter].map((one) => ({ parameter: one, descending }));
            const position = { values: ['y', 'm'], id: 'b' };
            const ask = (page: Partial<SearchQuery>): Promise<unknown> =>
              idsOf(store, queryOf('Location', undefined, { sort, limit: 9, ...page }));
            // What has the name has no value of the other key, and so comes after the position.
            const [first, last] = descending ? ['d', 'a'] : ['a', 'd'];
            assert.deepEqual(await ask({ before: position }), [first], parameter);
            assert.deepEqual(await ask({ after: position }), ['b', 'c', last, 'e'], parameter);
          }
        }
      },
    },
    {
      name: 'hold per target of a search by reference, and leave the total alone',
      async run(store) {
        const observations = ['a', 'b'].flatMap((patient) =>
          [1, 2, 3, 4].map((n) =>
            resourceOf('Observation', `${patient}${n}`, {
              subject: { reference: `Patient/${patient}` },
              effectiveDateTime: `2020-01-0${n}`,
            }),
          ),
        );
        await putAll(store, ...observations);
        const sort = [{ parameter: 'date', descending: true }];
        const position = positionOf(createSubject(store.model, observations[1]!, 0), sort);
        const targets = ['a', 'b', 'nobody'].map((id) => ({ type: 'Patient', id }));
        const ask = (page: Partial<SearchQuery>): Promise<readonly SearchPage[]> =>
          store.searchByReference(
            queryOf('Observation', undefined, { sort, total: true, ...page }),
            'subject',
            targets,
          );
        // Position: 2020-01-02, a2. In descending order 4 and 3 come before it, 2 (of b) and 1 after it.
        assert.deepEqual((await ask({ after: position })).map(shown), [
          [['a1'], 4],
          [['b2', 'b1'], 4],
          [[], 0],
        ]);
        assert.deepEqual((await ask({ before: position, limit: 1 })).map(shown), [
          [['a3'], 4],
          [['b3'], 4],
          [[], 0],
        ]);
        assert.deepEqual((await ask({ after: position, offset: 1, limit: 5 })).map(shown), [
          [[], 4],
          [['b1'], 4],
          [[], 0],
        ]);
      },
    },
    {
      name: 'are refused where they do not fit the sort, come in pairs, or end a page with an offset',
      async run(store) {
        const sort = [{ parameter: 'birthdate', descending: false }];
        const position: SearchPosition = { values: [0], id: 'a' };
        const refused: readonly Partial<SearchQuery>[] = [
          { sort, after: { values: [], id: 'a' } },
          { after: position },
          { sort, before: { values: [{} as never], id: 'a' } },
          { sort, before: { values: [Number.NaN], id: 'a' } },
          { sort, after: { values: [0] } as never },
          { sort, after: position, before: position },
          { sort, before: position, offset: 1 },
        ];
        for (const page of refused) {
          await assert.rejects(store.search(queryOf('Patient', undefined, page)), {
            name: 'FhirError',
            code: 'invalid',
          });
        }
        assert.deepEqual(await idsOf(store, queryOf('Patient', undefined, { sort, before: position, offset: 0 })), []);
      },
    },
  ],
};

/** Ids in order, page by page from one end, as many as there are. */
async function walk(
  store: ResourceStore,
  page: Pick<SearchQuery, 'sort' | 'limit'>,
  direction: 'after' | 'before',
  betweenPages: () => Promise<void> = () => Promise.resolve(),
): Promise<string[]> {
  const { sort } = page;
  const seen: string[] = [];
  let position: SearchPosition | undefined = direction === 'before' ? endOf(sort) : undefined;
  for (let pages = 0; pages < 400; pages++) {
    const bound = position === undefined ? {} : { [direction]: position };
    const { matches } = await store.search({ ...queryOf('Patient', undefined, page), ...bound });
    if (matches.length === 0) return seen;
    const ids = matches.map(({ resource }) => resource.id!);
    if (direction === 'after') seen.push(...ids);
    else seen.unshift(...ids);
    const { resource, lastUpdated } = direction === 'after' ? matches.at(-1)! : matches[0]!;
    position = positionOf(createSubject(store.model, resource, lastUpdated), sort);
    await betweenPages();
  }
  throw new assert.AssertionError({ message: 'The pages have no end' });
}

function shown({ matches, total }: SearchPage): unknown {
  return [matches.map(({ resource }) => resource.id), total];
}

function patients(count: number, random: () => number, prefix = 'p'): AnyResource[] {
  return Array.from({ length: count }, (_, index) =>
    resourceOf('Patient', `${prefix}${index}`, {
      ...(random() < 0.8 ? { gender: oneOf(['male', 'female'], random) } : {}),
      ...(random() < 0.8 ? { birthDate: `19${70 + below(5, random)}-01-01` } : {}),
      ...(random() < 0.8 ? { name: [{ family: oneOf(['Ä', 'a', 'b', 'Zoë', "o'b"], random) }] } : {}),
    }),
  );
}
