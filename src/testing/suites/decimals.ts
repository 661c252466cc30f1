import assert from 'node:assert/strict';
import { parseJson } from '../../fhir/json/parse-json.js';
import { stringifyJson } from '../../fhir/json/stringify-json.js';
import { type AnyResource, elementsOf } from '../../fhir/resource.js';
import { ALL } from '../../search/criteria/criteria.js';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, keyOf, putAll, queryOf } from '../conformance-case.js';

/** How decimals are written: `1.00` is the number 1 in process, and `1.00` again in JSON texts. */
export const decimalSuite: ConformanceSuite = {
  name: 'decimals',
  cases: [
    {
      name: 'are numbers of the same value for every call',
      async run(store) {
        for (const [call, resource] of await answersOf(store)) {
          assert.equal(JSON.stringify(contentOf(resource)), JSON.stringify(CONTENT), call);
        }
      },
    },
    {
      name: 'are written alike for every call',
      async run(store) {
        const texts = (await answersOf(store)).map(([call, resource]) => [call, stringifyJson(contentOf(resource))]);
        const [[, first] = []] = texts;
        for (const [call, text] of texts) assert.equal(text, first, call);
      },
    },
    {
      // Optional: a store that keeps numbers only leaves this case out by `skip`.
      name: 'come back as they were written',
      async run(store) {
        for (const [call, resource] of await answersOf(store)) {
          assert.equal(
            stringifyJson(contentOf(resource)),
            DECIMALS,
            `${call}: write texts with jsonText and read them with parseJsonText, or skip this case if the store is to keep numbers only`,
          );
        }
      },
    },
    {
      name: 'of one version do not depend on another',
      async run(store) {
        await putAll(store, chargeItem('1.00'));
        await putAll(store, chargeItem('1'));
        await putAll(store, chargeItem('1.0'));
        const { entries } = await store.history(keyOf('ChargeItem', 'a'), { offset: 0, limit: 9 });
        const texts = entries.map((entry) => entry.kind === 'put' && stringifyJson(contentOf(entry.resource)));
        assert.equal(texts[1], '{"factorOverride":1}');
        assert.ok(['{"factorOverride":1.0}', texts[1]].includes(texts[0] as string));
        assert.ok(['{"factorOverride":1.00}', texts[1]].includes(texts[2] as string));
      },
    },
  ],
};

const DECIMALS =
  '{"quantity":{"value":42.256500},"factorOverride":1.00,"priceOverride":{"value":66.899999999999991},"extension":[{"url":"urn:e","valueDecimal":-0.0},{"url":"urn:f","valueDecimal":1E2}]}';

const CONTENT = parseJson(DECIMALS);

function chargeItem(factor?: string): AnyResource {
  const content = factor === undefined ? DECIMALS : `{"factorOverride":${factor}}`;
  const start = '{"resourceType":"ChargeItem","id":"a","subject":{"reference":"Patient/p"},';
  return parseJson(`${start}${content.slice(1)}`) as AnyResource;
}

/** The resource as every call gives it. */
async function answersOf(store: ResourceStore): Promise<readonly (readonly [call: string, AnyResource])[]> {
  const [written] = await putAll(store, chargeItem());
  assert.equal(written?.kind, 'put');
  const answers: [string, AnyResource][] = [['commit', written.resource]];
  const key = keyOf('ChargeItem', 'a');
  // Twice, since stores may answer the second time from a cache.
  for (const time of ['first', 'second']) {
    for (const [call, version] of [
      ['read', undefined],
      ['read of a version', written.versionId],
    ] as const) {
      const [found] = await store.read([{ ...key, version }]);
      assert.equal(found?.status, 'found');
      answers.push([`${time} ${call}`, found.resource]);
    }
    const page = await store.search(queryOf('ChargeItem', ALL));
    const [reverse] = await store.searchByReference(queryOf('ChargeItem'), 'subject', [{ type: 'Patient', id: 'p' }]);
    const { entries } = await store.history(key, { offset: 0, limit: 1 });
    answers.push([`${time} search`, page.matches[0]!.resource]);
    answers.push([`${time} searchByReference`, reverse!.matches[0]!.resource]);
    for (const entry of entries) if (entry.kind === 'put') answers.push([`${time} history`, entry.resource]);
  }
  return answers;
}

function contentOf(resource: AnyResource): unknown {
  const { resourceType: _t, id: _i, meta: _m, subject: _s, ...content } = elementsOf(resource);
  return content;
}
