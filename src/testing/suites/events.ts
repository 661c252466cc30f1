import assert from 'node:assert/strict';
import type { ResourceStore } from '../../store/store.js';
import { type ConformanceSuite, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** Abort signals and closing. */
export const eventSuite: ConformanceSuite = {
  name: 'events',
  cases: [
    {
      name: 'rejects calls whose signal has fired, and writes nothing for them',
      async run(store) {
        const options = { signal: AbortSignal.abort() };
        for (const call of callsOf(store, options)) await assert.rejects(call, { name: 'FhirError', code: 'aborted' });
        assert.deepEqual(await store.read([keyOf('Patient', 'new')]), [{ status: 'missing' }]);
        await putAll(store, resourceOf('Patient', 'new'));
      },
    },
    {
      name: 'pays no attention to a signal that does not fire',
      async run(store) {
        await Promise.all(callsOf(store, { signal: new AbortController().signal }).map((call) => call()));
      },
    },
    {
      name: 'rejects every call once closed, and closes twice',
      async run(store) {
        await store.close();
        await store.close();
        for (const call of callsOf(store)) await assert.rejects(call, { name: 'FhirError', code: 'unavailable' });
      },
    },
  ],
};

/** Each call is made when its result is awaited: a rejection that nobody awaits yet would end the host's test run. */
function callsOf(
  store: ResourceStore,
  options?: { readonly signal: AbortSignal },
): readonly (() => Promise<unknown>)[] {
  const targets = [{ type: 'Organization', id: 'a' }];
  return [
    () => store.read([keyOf('Patient', 'a')], options),
    () => store.search(queryOf('Patient'), options),
    () => store.searchByReference(queryOf('Patient'), 'organization', targets, options),
    () => store.commit([put(resourceOf('Patient', 'new'))], options),
    () => store.history(keyOf('Patient', 'a'), { offset: 0, limit: 1 }, options),
  ];
}
