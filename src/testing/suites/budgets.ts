import assert from 'node:assert/strict';
import { FhirError } from '../../fhir/error.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import { ShortPage, TextBudget } from '../../store/text-budget.js';
import { type ConformanceSuite, keyOf, putAll, queryOf, resourceOf } from '../conformance-case.js';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const SIZE = 4_000;
/** Half of it, which a page may have, is at least one resource and less than three. */
const BYTES = 4.5 * SIZE;

/** `CallOptions.budget` and `shortens`. A store may ignore both. */
export const budgetSuite: ConformanceSuite = {
  name: 'budgets of bytes',
  cases: [
    {
      name: 'end pages early, which say so and lead on, or have no effect',
      async run(store) {
        await putAll(store, ...IDS.map((id) => resourceOf('Binary', id, { data: 'A'.repeat(SIZE) })));
        const walked: string[] = [];
        for (let after: SearchPosition | undefined; ;) {
          const shortens = new ShortPage();
          const query = queryOf('Binary', undefined, { limit: IDS.length, after, shortens });
          const { matches } = await store.search(query, { budget: new TextBudget(BYTES) });
          const ids = matches.map(({ resource }) => resource.id!);
          walked.push(...ids);
          if (!shortens.isCut) break;
          assert.ok(ids.length > 0, 'A page that begins a walk has a resource');
          after = { values: [], id: ids.at(-1)! };
        }
        assert.deepEqual(walked, IDS);
      },
    },
    {
      name: 'make other calls too costly, or have no effect',
      async run(store) {
        await putAll(store, ...IDS.map((id) => resourceOf('Binary', id, { data: 'A'.repeat(SIZE) })));
        const keys = IDS.map((id) => keyOf('Binary', id));
        const calls = [
          async () => (await store.search(queryOf('Binary'), { budget: new TextBudget(BYTES) })).matches.length,
          async () => (await store.read(keys, { budget: new TextBudget(BYTES) })).length,
        ];
        for (const call of calls) {
          const count = await call().catch((error: unknown) => {
            assert.ok(error instanceof FhirError);
            assert.equal(error.detailsOf('too-costly')?.limit, 'bytes');
            return IDS.length;
          });
          assert.equal(count, IDS.length);
        }
      },
    },
  ],
};
