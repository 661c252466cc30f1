import assert from 'node:assert/strict';
import type { SortKey } from '../../search/criteria/criteria.js';
import type { SearchQuery } from '../../store/search-query.js';
import { type ConformanceSuite, idsOf, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** `sort`, `offset`, `limit` and `total`. */
export const orderSuite: ConformanceSuite = {
  name: 'order',
  cases: [
    {
      name: 'is by ascending id unless asked for',
      async run(store) {
        await putAll(store, ...['b', 'B', 'a-1', 'a', '10', '9', 'a.1'].map((id) => resourceOf('Patient', id)));
        assert.deepEqual(await idsOf(store, queryOf('Patient')), ['10', '9', 'B', 'a', 'a-1', 'a.1', 'b']);
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: '_id', descending: true }]), [
          'b',
          'a.1',
          'a-1',
          'a',
          'B',
          '9',
          '10',
        ]);
      },
    },
    {
      name: 'of strings ignores case and accents and keeps punctuation',
      async run(store) {
        const names = ['Zoe', 'ápple', "b'b", 'bb', 'Äpple', 'b b', 'B-b'];
        await putAll(store, ...names.map((family, index) => resourceOf('Patient', `${index}`, { name: [{ family }] })));
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'family', descending: false }]), [
          '1',
          '4',
          '5',
          '2',
          '6',
          '3',
          '0',
        ]);
      },
    },
    {
      name: 'of texts goes by code point, beyond the Basic Multilingual Plane too',
      async run(store) {
        // In UTF-16 the units of a character beyond come before U+E000.
        const ascending = ['z', '\ud7fbz', '\ue000z', '\ufd3en', '\ufffdz', '𐐨', '😀', '😀 z', '🧪'];
        const ids = ascending.map((_, index) => `${(index * 4) % ascending.length}`);
        await putAll(
          store,
          ...ascending.map((text, index) =>
            resourceOf('ValueSet', ids[index]!, { name: text, url: `urn:${text}`, identifier: [{ value: text }] }),
          ),
          resourceOf('Organization', 'both', { name: '😀', alias: ['\ufd3en'] }),
          resourceOf('Organization', 'one', { name: '\ufffdz' }),
        );
        for (const parameter of ['name', 'url', 'identifier']) {
          const sort = [{ parameter, descending: false }];
          assert.deepEqual(await sorted(store, 'ValueSet', sort), ids, parameter);
          const backwards = [{ parameter, descending: true }];
          assert.deepEqual(await sorted(store, 'ValueSet', backwards), ids.toReversed(), parameter);
        }
        assert.deepEqual(await sorted(store, 'Organization', [{ parameter: 'name', descending: false }]), [
          'both',
          'one',
        ]);
        assert.deepEqual(await sorted(store, 'Organization', [{ parameter: 'name', descending: true }]), [
          'both',
          'one',
        ]);
      },
    },
    {
      name: 'puts resources without a value last in both directions',
      async run(store) {
        await putAll(
          store,
          resourceOf('Patient', 'a'),
          resourceOf('Patient', 'b', { birthDate: '1990' }),
          resourceOf('Patient', 'c', { birthDate: '1980' }),
        );
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'birthdate', descending: false }]), [
          'c',
          'b',
          'a',
        ]);
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'birthdate', descending: true }]), [
          'b',
          'c',
          'a',
        ]);
      },
    },
    {
      name: 'takes the smallest of several values ascending, the largest descending',
      async run(store) {
        const named = (...given: string[]): object => ({ name: [{ given }] });
        await putAll(
          store,
          resourceOf('Patient', 'x', { ...named('m', 'a') }),
          resourceOf('Patient', 'y', { ...named('b', 'c') }),
          resourceOf('Patient', 'z', { ...named('n') }),
        );
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'given', descending: false }]), ['x', 'y', 'z']);
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'given', descending: true }]), ['z', 'x', 'y']);
      },
    },
    {
      name: 'goes by further keys, then by ascending id',
      async run(store) {
        const row = (id: string, gender: string, birthDate: string): ReturnType<typeof resourceOf> =>
          resourceOf('Patient', id, { gender, birthDate });
        await putAll(
          store,
          row('d', 'male', '1990'),
          row('c', 'male', '1980'),
          row('b', 'female', '1980'),
          row('a', 'male', '1990'),
        );
        const keys = [
          { parameter: 'gender', descending: true },
          { parameter: 'birthdate', descending: false },
        ];
        assert.deepEqual(await sorted(store, 'Patient', keys), ['c', 'a', 'd', 'b']);
        assert.deepEqual(await sorted(store, 'Patient', [{ parameter: 'birthdate', descending: true }]), [
          'a',
          'd',
          'b',
          'c',
        ]);
      },
    },
    {
      name: 'of numbers, quantities, tokens, references, uris and instants',
      async run(store) {
        const observation = (id: string, value: number, subject: string): ReturnType<typeof resourceOf> =>
          resourceOf('Observation', id, {
            valueQuantity: { value, unit: 'x' },
            subject: { reference: subject },
            status: id,
          });
        await putAll(
          store,
          observation('b', 10, 'Patient/1'),
          observation('a', 9, 'http://x'),
          observation('c', -1, 'Group/2'),
        );
        assert.deepEqual(await sorted(store, 'Observation', [{ parameter: 'value-quantity', descending: false }]), [
          'c',
          'a',
          'b',
        ]);
        assert.deepEqual(await sorted(store, 'Observation', [{ parameter: 'subject', descending: false }]), [
          'c',
          'b',
          'a',
        ]);
        assert.deepEqual(await sorted(store, 'Observation', [{ parameter: 'status', descending: true }]), [
          'c',
          'b',
          'a',
        ]);
        await putAll(
          store,
          resourceOf('ValueSet', 'a', { url: 'http://b' }),
          resourceOf('ValueSet', 'b', { url: 'http://a' }),
        );
        assert.deepEqual(await sorted(store, 'ValueSet', [{ parameter: 'url', descending: false }]), ['b', 'a']);
        const { matches } = await store.search(
          queryOf('Observation', undefined, { sort: [{ parameter: '_lastUpdated', descending: true }] }),
        );
        const instants = matches.map(({ lastUpdated }) => lastUpdated);
        assert.deepEqual(instants, instants.toSorted().toReversed());
      },
    },
    {
      name: 'does not depend on a parameter that nothing has a value of',
      async run(store) {
        await putAll(store, resourceOf('Patient', 'b'), resourceOf('Patient', 'a'));
        for (const parameter of ['family', 'organization', 'address-city', 'no-such-parameter']) {
          assert.deepEqual(await sorted(store, 'Patient', [{ parameter, descending: true }]), ['a', 'b']);
        }
      },
    },
    {
      name: 'cuts pages from it, and counts all matches on request',
      async run(store) {
        await putAll(
          store,
          ...['a', 'b', 'c', 'd', 'e'].map((id) => resourceOf('Patient', id, { gender: id < 'e' ? 'male' : 'other' })),
        );
        const male = { kind: 'match', parameter: 'gender', test: { kind: 'token', code: 'male' } } as const;
        const pages: readonly [Partial<SearchQuery>, readonly string[]][] = [
          [{}, ['a', 'b', 'c', 'd']],
          [{ limit: 2 }, ['a', 'b']],
          [{ limit: 2, offset: 2 }, ['c', 'd']],
          [{ limit: 4 }, ['a', 'b', 'c', 'd']],
          [{ limit: 9, offset: 3 }, ['d']],
          [{ offset: 1 }, ['b', 'c', 'd']],
          [{ offset: 4 }, []],
          [{ offset: 9, limit: 1 }, []],
          [{ limit: 0 }, []],
        ];
        for (const [page, expected] of pages) {
          const { matches, total } = await store.search(queryOf('Patient', male, { ...page, total: true }));
          assert.deepEqual([matches.map(({ resource }) => resource.id), total], [expected, 4], JSON.stringify(page));
          assert.equal((await store.search(queryOf('Patient', male, page))).total, undefined);
        }
      },
    },
    {
      name: 'refuses an offset or limit that is not a whole number from 0 up',
      async run(store) {
        for (const page of [
          { offset: -1 },
          { limit: -1 },
          { limit: 1.5 },
          { offset: Number.NaN },
          { limit: Infinity },
        ]) {
          await assert.rejects(store.search(queryOf('Patient', undefined, page)), {
            name: 'FhirError',
            code: 'invalid',
          });
        }
      },
    },
  ],
};

function sorted(
  store: Parameters<typeof idsOf>[0],
  type: string,
  sort: readonly SortKey[],
): Promise<readonly (string | undefined)[]> {
  return idsOf(store, queryOf(type, undefined, { sort }));
}
