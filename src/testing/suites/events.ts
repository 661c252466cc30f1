import assert from 'node:assert/strict';
import type { ResourceStore } from '../../store/store.js';
import type { Change } from '../../store/write.js';
import { type ConformanceSuite, keyOf, put, putAll, queryOf, resourceOf } from '../conformance-case.js';

/** Change events, abort signals and closing. */
export const eventSuite: ConformanceSuite = {
  name: 'events',
  cases: [
    {
      name: 'reports to listeners what a commit changed, in order',
      async run(store) {
        const heard: (readonly Change[])[] = [];
        store.subscribe((changes) => heard.push(changes));
        const results = await store.commit([
          put(resourceOf('Patient', 'a')),
          { kind: 'assert-no-match', query: queryOf('Group') },
          { kind: 'delete', key: keyOf('Patient', 'never') },
          put(resourceOf('Patient', 'b'), {}, 'elsewhere'),
          { kind: 'delete', key: keyOf('Patient', 'a') },
        ]);
        const versions = results.flatMap((one) =>
          'versionId' in one && one.versionId !== null ? [one.versionId] : [],
        );
        assert.deepEqual(heard, [
          [
            { kind: 'put', key: keyOf('Patient', 'a'), versionId: versions[0] },
            { kind: 'put', key: keyOf('Patient', 'b', 'elsewhere'), versionId: versions[1] },
            { kind: 'delete', key: keyOf('Patient', 'a'), versionId: versions[2] },
          ],
        ]);
      },
    },
    {
      name: 'reports nothing of a commit that failed or changed nothing',
      async run(store) {
        let calls = 0;
        store.subscribe(() => calls++);
        await assert.rejects(
          store.commit([
            put(resourceOf('Patient', 'a')),
            put(resourceOf('Patient', 'b'), { expect: { version: '1' } }),
          ]),
        );
        await store.commit([{ kind: 'delete', key: keyOf('Patient', 'a') }]);
        await store.commit([{ kind: 'assert-no-match', query: queryOf('Patient') }]);
        await store.commit([]);
        assert.equal(calls, 0);
      },
    },
    {
      name: 'lets a listener see what an event names, and stop listening',
      async run(store) {
        const seen: Promise<readonly unknown[]>[] = [];
        const stop = store.subscribe(([change]) => seen.push(store.read([change!.key])));
        await putAll(store, resourceOf('Patient', 'a'));
        stop();
        stop();
        await putAll(store, resourceOf('Patient', 'b'));
        assert.equal(seen.length, 1);
        assert.equal(((await seen[0]!)[0] as { status: string }).status, 'found');
      },
    },
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
