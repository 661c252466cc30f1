import { afterEach, expect, test } from 'vitest';
import { type AuditRecord, type BundlesContext, FhirError, importBundles } from '../../src/index.js';
import { LINE_TUNING } from '../../src/import/bundles/place-in-line.js';
import { ask, batch, contents, faultOf, memoryContext, post, put, transaction } from './harness.js';
import { neverPause } from '../support/never-pause.js';

neverPause();

const TUNING = { ...LINE_TUNING };
afterEach(() => void Object.assign(LINE_TUNING, TUNING));

const patient = (id: string): object => transaction(put({ resourceType: 'Patient', id }));

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A store that commits only when a test lets it. */
function heldContext(): {
  readonly context: BundlesContext;
  readonly begun: string[];
  /** Ends the oldest waiting commit, with the given error if there is one. */
  end(error?: Error): Promise<void>;
} {
  const context = memoryContext();
  const begun: string[] = [];
  const waiting: ((error?: Error) => void)[] = [];
  const commit = context.store.commit.bind(context.store);
  context.store.commit = async (writes, options) => {
    begun.push(writes.map((write) => (write.kind === 'assert-no-match' ? write.kind : write.key.id)).join());
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    waiting.push((error) => (error === undefined ? resolve(undefined) : reject(error)));
    await promise;
    return commit(writes, options);
  };
  return {
    context,
    begun,
    async end(error) {
      await turns();
      waiting.shift()!(error);
      await turns();
    },
  };
}

test('counts the results of all Bundles, and reports each in order', async () => {
  const context = memoryContext();
  const told: unknown[] = [];
  const result = await importBundles(
    [
      patient('a'),
      transaction(put({ resourceType: 'Patient', id: 'a', active: true })),
      { resourceType: 'Patient' },
      batch(put({ resourceType: 'Patient', id: 'b' }), ask('DELETE', 'Patient/a'), ask('PATCH', 'Patient/b')),
      patient('b'),
    ],
    {
      ...context,
      onResult: (one, position) => told.push([position, one instanceof FhirError ? one.code : one.created]),
    },
  );
  expect(result).toEqual({
    bundles: 5,
    created: 2,
    updated: 1,
    deleted: 1,
    unchanged: 1,
    failed: 1,
    refused: 1,
    errors: [
      {
        bundle: 2,
        reason: { code: 'invalid', message: 'Expected a Bundle: a JSON object with "resourceType": "Bundle"' },
      },
    ],
    stopped: false,
  });
  expect(told).toEqual([
    [0, 1],
    [1, 0],
    [2, 'invalid'],
    [3, 1],
    [4, 0],
  ]);
});

test.each([
  ['four', 1_500, 4],
  ['two large ones', 0, 2],
])('Bundles are prepared and sent while the first is written: %s, and no further Bundle', async (_, entries, most) => {
  LINE_TUNING.entries = entries;
  const { context, begun, end } = heldContext();
  const taken: string[] = [];
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const source = function* (): Generator<object> {
    for (const id of ids) {
      taken.push(id);
      yield patient(id);
    }
  };
  const imported = importBundles(source(), context);
  await turns();
  expect([begun, taken]).toEqual([ids.slice(0, most), ids.slice(0, most)]);
  await end();
  expect([begun, taken]).toEqual([ids.slice(0, most + 1), ids.slice(0, most + 1)]);
  for (let left = 5; left > 0; left--) await end();
  expect(await imported).toMatchObject({ bundles: 6, created: 6 });
});

test('a Bundle that waits for an earlier Bundle is overtaken by Bundles about other resources', async () => {
  const { context, begun, end } = heldContext();
  const told: number[] = [];
  const onResult = (_: unknown, position: number): void => void told.push(position);
  const again = transaction(put({ resourceType: 'Patient', id: 'a', active: true }));
  const third = transaction(put({ resourceType: 'Patient', id: 'a', active: false }));
  const imported = importBundles([patient('a'), again, patient('b'), third], { ...context, onResult });
  await turns();
  expect(begun).toEqual(['a', 'b']);
  await end();
  expect([begun, told]).toEqual([['a', 'b', 'a'], [0]]);
  await end();
  expect([begun, told]).toEqual([['a', 'b', 'a'], [0]]);
  await end();
  expect([begun, told]).toEqual([
    ['a', 'b', 'a', 'a'],
    [0, 1, 2],
  ]);
  await end();
  expect(await imported).toMatchObject({ created: 2, updated: 2 });
  expect((await contents(context.store))['Patient/a']).toMatchObject({ active: false });
});

test('only a few of many Bundles are in memory at a time', async () => {
  const context = memoryContext();
  const counts = { taken: 0, told: 0, most: 0 };
  const source = function* (): Generator<object> {
    for (; counts.taken < 2_000; counts.taken++) {
      counts.most = Math.max(counts.most, counts.taken - counts.told);
      yield patient(`p${counts.taken % 300}`);
    }
  };
  const result = await importBundles(source(), { ...context, onResult: () => (counts.told += 1) });
  expect(result).toMatchObject({ bundles: 2_000, created: 300, unchanged: 1_700 });
  expect(counts.most).toBeLessThanOrEqual(4);
});

test('while a Bundle takes long, only the permitted number is in progress, and their results wait', async () => {
  const { context, begun, end } = heldContext();
  const held = context.store.commit;
  const { store } = memoryContext();
  // Only the first commit is delayed.
  context.store.commit = (...args) => (begun.length === 0 ? held(...args) : store.commit(...args));
  let taken = 0;
  const source = function* (): Generator<object> {
    for (; taken < 50; taken++) yield patient(`p${taken}`);
  };
  const imported = importBundles(source(), context);
  await turns();
  await turns();
  expect(taken).toBeLessThanOrEqual(4);
  await end();
  expect(await imported).toMatchObject({ bundles: 50, created: 50 });
});

const [A, B] = ['a', 'b'].map((id) => ({ resourceType: 'Patient', id })) as [{ resourceType: string }, object];

test.each<[string, object, Partial<BundlesContext>]>([
  ['has a resource of the one before', transaction(put({ ...A, active: true })), {}],
  ['deletes a resource', transaction(ask('DELETE', 'Patient/a')), {}],
  [
    'can create a resource that the one before creates',
    transaction(post({ ...B }, { ifNoneExist: 'active=true' })),
    {},
  ],
  [
    'refers by a condition',
    transaction(put({ resourceType: 'Basic', id: 'b', subject: { reference: 'Patient?active=true' } })),
    {},
  ],
  ['can end the import', patient('b'), { stopOnError: true }],
  ['must be recorded', patient('b'), { audit: () => Promise.resolve(), requireAudit: true }],
  ['has limits', patient('b'), { limits: { timeout: 10_000 } }],
])('a Bundle waits if it %s', async (_, second, more) => {
  const { context, begun, end } = heldContext();
  const imported = importBundles([patient('a'), second], { ...context, ...more });
  await turns();
  expect(begun).toEqual(['a']);
  await end();
  await end().catch(() => undefined);
  expect((await imported).bundles).toBe(2);
});

test.each<[string, object]>([
  ['decides access', transaction(put({ resourceType: 'AccessPolicy', id: 'a' }))],
  ['writes by a condition', transaction(put({ resourceType: 'Patient' }, { url: 'Patient?active=true' }))],
  ['reads', transaction(put({ resourceType: 'Patient', id: 'a' }), ask('GET', 'Patient'))],
  [
    'refers by a condition',
    transaction(
      put({ resourceType: 'Patient', id: 'a', active: true }),
      put({ resourceType: 'Basic', id: 'b', subject: { reference: 'Patient?active=true' } }),
    ),
  ],
  ['is a batch', batch(put({ resourceType: 'Patient', id: 'a' }))],
])('the next Bundle waits for a Bundle that %s', async (_, first) => {
  const { context, begun, end } = heldContext();
  const imported = importBundles([first, patient('z')], context);
  await turns();
  expect(begun.length).toBe(1);
  await end();
  await end();
  expect(await imported).toMatchObject({ bundles: 2, refused: 0 });
});

test('stopOnError ends at the first Bundle that fails', async () => {
  const context = memoryContext();
  const result = await importBundles([patient('a'), {}, patient('b')], { ...context, stopOnError: true });
  expect(result).toMatchObject({ bundles: 2, created: 1, refused: 1, stopped: true });
  expect(Object.keys(await contents(context.store))).toEqual(['Patient/a']);
});

test('describes at most the permitted number of failed Bundles, and counts all', async () => {
  const context = { ...memoryContext(), maxErrors: 2 };
  const result = await importBundles([{}, {}, {}, patient('a')], context);
  expect(result).toMatchObject({ bundles: 4, refused: 3, created: 1 });
  expect(result.errors.map(({ bundle }) => bundle)).toEqual([0, 1]);
});

test('a failed import is over: the Bundles in progress have ended, and the error says that some may be written', async () => {
  const { context, end } = heldContext();
  let isOver = false;
  const imported = importBundles(['a', 'b', 'c'].map(patient), context);
  const failed = expect(imported)
    .rejects.toMatchObject({ code: 'unavailable', details: { unknown: true } })
    .then(() => (isOver = true));
  await end(new FhirError('unavailable', 'down'));
  expect(isOver).toBe(false);
  await end();
  expect(isOver).toBe(false);
  await end();
  await failed;
  expect(Object.keys(await contents(context.store))).toEqual(['Patient/b', 'Patient/c']);
});

test('an error of the host, or of the source, ends the import', async () => {
  const context = memoryContext();
  const thrown = new Error('enough');
  const onResult = (): never => {
    throw thrown;
  };
  await expect(importBundles([patient('a'), patient('b')], { ...context, onResult })).rejects.toBe(thrown);
  const broken = function* (): Generator<object> {
    yield patient('c');
    throw thrown;
  };
  await expect(importBundles(broken(), context)).rejects.toBe(thrown);
  expect(Object.keys(await contents(context.store))).toContain('Patient/c');
});

test('an aborted import closes its source', async () => {
  const { signal } = { signal: AbortSignal.abort() };
  let closed = false;
  const source = async function* (): AsyncGenerator<object> {
    try {
      yield patient('a');
    } finally {
      closed = true;
    }
    await Promise.resolve();
  };
  const items = source();
  await items.next();
  expect(await faultOf(importBundles(items, { ...memoryContext(), signal }))).toMatchObject({ code: 'aborted' });
  expect(closed).toBe(true);
});

test('refuses invalid arguments', async () => {
  const context = memoryContext();
  expect(await faultOf(importBundles(5 as never, context))).toMatchObject({ code: 'invalid' });
  expect(await faultOf(importBundles([], { ...context, maxErrors: 0 }))).toMatchObject({ code: 'invalid' });
  expect(await faultOf(importBundles([], { ...context, requireAudit: true }))).toMatchObject({ code: 'invalid' });
  expect(await faultOf(importBundles([], { ...context, caller: undefined as never }))).toMatchObject({
    code: 'unauthenticated',
  });
});

test('each Bundle has an audit record', async () => {
  const records: AuditRecord[] = [];
  await importBundles([patient('a'), {}, patient('b')], {
    ...memoryContext(),
    audit: (record) => void records.push(record),
  });
  // In the order in which the Bundles end.
  const told = records.map(({ interaction, outcome, targets }) => [interaction, outcome.success, targets?.[0]?.id]);
  expect(told).toHaveLength(3);
  expect(told).toEqual(
    expect.arrayContaining([
      ['import', true, 'a'],
      ['import', false, undefined],
      ['import', true, 'b'],
    ]),
  );
});
