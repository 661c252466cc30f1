import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createFhirGraphql,
  executeFhirGraphql,
  explainFhirGraphql,
  importBundle,
  type ResourceStore,
  systemCaller,
} from '../../src/index.js';
import { sharedJson, sharedText, syntheaBundles, type TransactionBundle } from '../support/shared.js';
import { countCalls } from './counting-store.js';
import { difference, subsetDifference, unorderedKeys, withoutPages, type Order } from './compare-corpus.js';

interface CorpusQuery {
  readonly name: string;
  readonly variables?: { readonly [name: string]: unknown };
  readonly operationName?: string;
  readonly focus?: string;
  readonly order: Order;
  readonly expect: 'data' | 'error';
  readonly bubbleOk?: boolean;
}

/** The queries of the shared corpus over a store, each with the expected answer and the calls of its explanation. */
export function corpusSuite(name: string, createStore: () => ResourceStore | Promise<ResourceStore>): void {
  describe(`the corpus on ${name}`, () => {
    const caller = systemCaller('corpus');
    const queries = sharedJson<CorpusQuery[]>('corpus/index.json');
    let store: ResourceStore;

    beforeAll(async () => {
      store = await createStore();
      const bundles = [...syntheaBundles(20), sharedJson<TransactionBundle>('corpus/supplement.json')];
      for (const bundle of bundles) await importBundle(bundle, { store, caller });
    });
    afterAll(() => store.close());

    test.each(queries)('$name', async (entry) => {
      const text = sharedText(`corpus/${entry.name}.graphql`);
      const expected = sharedJson<{ data?: unknown; errors: boolean }>(`corpus/expected/${entry.name}.json`);
      const context = {
        store,
        caller,
        variables: entry.variables,
        operationName: entry.operationName,
        focus: entry.focus,
      };
      const actual = await executeFhirGraphql(text, context);
      expect(await createFhirGraphql({ store }).execute(text, context)).toEqual(actual);
      if (entry.expect === 'error') {
        expect(actual.errors?.length).toBeGreaterThan(0);
        expect(actual.data ?? null).toBeNull();
        return;
      }
      expect(actual.errors !== undefined, JSON.stringify(actual.errors)).toBe(expected.errors);
      const unordered = entry.order === 'exact' ? new Set<string>() : unorderedKeys(text);
      if (entry.order === 'subset') {
        const all = await executeFhirGraphql(withoutPages(text), context);
        expect(subsetDifference(expected.data, actual.data, all.data, unordered)).toBeUndefined();
      } else {
        expect(difference(expected.data, actual.data, unordered)).toBeUndefined();
      }
    });

    test.each(queries.filter(({ expect: outcome }) => outcome === 'data'))(
      '$name makes the store calls of its explanation',
      async (entry) => {
        const text = sharedText(`corpus/${entry.name}.graphql`);
        const counting = countCalls(store);
        const context = {
          store: counting.store,
          caller,
          variables: entry.variables,
          operationName: entry.operationName,
          focus: entry.focus,
        };
        const { calls, cut } = (await explainFhirGraphql(text, context)).plan;
        expect(counting.takeCalls()).toEqual([]);
        await executeFhirGraphql(text, context);
        const unexplained = counting.takeCalls().filter((call) => {
          const [method, type] = call.split(/[ ./]/) as [string, string];
          return !calls.some(
            ({ kind, types, asked }) =>
              asked && METHODS[kind] === method && (types.length === 0 || types.includes(type)),
          );
        });
        expect({ cut, unexplained }).toEqual({ cut: false, unexplained: [] });
      },
    );
  });
}

const METHODS = {
  read: 'read',
  reference: 'read',
  search: 'search',
  canonical: 'search',
  identifier: 'search',
  reverse: 'reverse',
  host: 'host',
} as const;
