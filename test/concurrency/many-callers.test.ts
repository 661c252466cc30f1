import { describe, expect, test } from 'vitest';
import { MemoryStore, type ResourceStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { keyOf, put, queryOf, resourceOf } from '../support/kit.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { cases, SEED } from '../support/chance.js';
import { contradictionsOf } from '../support/linearizability.js';
import { runManyCallers } from '../support/many-callers.js';

const fileNamed = temporaryFolder();
let files = 0;
const stores: readonly [name: string, make: () => ResourceStore][] = [
  ['memory', () => new MemoryStore()],
  ['SQLite', () => new SqliteStore(fileNamed(`${(files += 1)}.db`), { synchronous: 'off' })],
];

describe.each(stores)('many callers of one store at once, on %s', (_name, makeStore) => {
  test('each resource behaves as if its calls had come one after the other', async () => {
    const store = makeStore();
    const options = { callers: 12, calls: cases(40, 80), resources: 4, seed: SEED };
    const { operations, overtaken } = await runManyCallers(store, options);
    expect(contradictionsOf(operations)).toEqual([]);
    expect([operations.length > 12 * 20, overtaken > 12]).toEqual([true, true]);
    await store.close();
  });

  test('of all callers who update one version, exactly one succeeds, version after version', async () => {
    const store = makeStore();
    const key = keyOf('Patient', 'a');
    await store.commit([put(resourceOf('Patient', 'a'))]);
    for (let version = 1; version <= 30; version++) {
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) =>
          store.commit([
            put(resourceOf('Patient', 'a', { language: `${n}` }), { expect: { version: String(version) } }),
            put(resourceOf('Patient', `by-${version}-${n}`)),
          ]),
        ),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const codes = results.flatMap((one) =>
        one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
      );
      expect(new Set(codes)).toEqual(new Set(['precondition-failed']));
    }
    const { total } = await store.history(key, { offset: 0, limit: 0 });
    // The losers left nothing of their second write either.
    const { matches } = await store.search(queryOf('Patient'));
    expect([total, matches.length]).toEqual([31, 31]);
    await store.close();
  });
});
