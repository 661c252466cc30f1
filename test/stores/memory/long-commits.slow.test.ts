import { afterEach, expect, test, vi } from 'vitest';
import { type AnyResource, type FhirError, MemoryStore } from '../../../src/index.js';
import type { ResourceKey, Write } from '../../../src/store.js';
import { createRandom, randomResources } from '../../support/kit.js';
import { PACE } from '../../../src/platform/pace.js';
import { nextTurn } from '../../../src/platform/runtime.js';
import { ALL } from '../../../src/search/criteria/criteria.js';
import { SEED } from '../../support/chance.js';
import { countTurns } from '../../support/count-turns.js';

const { turnMs } = PACE;
afterEach(() => {
  PACE.turnMs = turnMs;
  vi.unstubAllGlobals();
});

const store = (): MemoryStore => new MemoryStore({ clock: () => new Date(0) });
const put = (resource: AnyResource): Write => ({
  kind: 'put',
  key: { project: 'p', type: resource.resourceType, id: resource.id! },
  resource,
});
const patientKey = (index: number): ResourceKey => ({ project: 'p', type: 'Patient', id: `p${index}` });
const patients = (count: number, family = 'Lee'): Write[] =>
  Array.from({ length: count }, (_, index) => {
    const patient = { resourceType: 'Patient', id: `p${index}`, name: [{ family }] };
    return put(patient);
  });
const LAST_PATIENTS = { project: 'p', type: 'Patient', criteria: ALL, sort: [], offset: 240, limit: 10 } as const;
type Found = { readonly resource: { readonly name?: unknown } };

test(`a long commit leaves what short ones leave (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const writes = [1, 2, 3, 4].flatMap(() => randomResources(random)).map(put);
  expect(writes.length).toBeGreaterThan(200);
  const [long, short] = [store(), store()];
  const results = await long.commit(writes);
  const expected = [];
  for (const write of writes) expected.push(...(await short.commit([write])));
  expect(results).toStrictEqual(expected);
  const keys = writes.flatMap((write) => (write.kind === 'put' ? [write.key] : []));
  expect(await long.read(keys)).toStrictEqual(await short.read(keys));
  expect(Object.isFrozen(results[0])).toBe(false);
  for (const type of new Set(keys.map((key) => key.type))) {
    const query = { project: 'p', type, criteria: ALL, sort: [], offset: 0, limit: 1_000 } as const;
    expect(await long.search(query)).toStrictEqual(await short.search(query));
  }
});

test('a long commit has other work between its resources, and again while it takes them back', async () => {
  PACE.turnMs = 0;
  const one = store();
  const { turns } = await countTurns(() => one.commit(patients(300)));
  expect(turns).toBeGreaterThanOrEqual(300);
  const failing = [...patients(300), { kind: 'delete', key: patientKey(0), expect: { version: '7' } } as const];
  const failed = await countTurns(() => one.commit(failing).catch((error) => error));
  expect(failed.result).toMatchObject({ code: 'precondition-failed' });
  expect(failed.turns).toBeGreaterThanOrEqual(600);
});

test('a search has other work between its steps, and a commit waits for searches before it', async () => {
  const one = store();
  await one.commit(patients(300, 'before'));
  PACE.turnMs = 0;
  const query = { project: 'p', type: 'Patient', criteria: ALL, sort: [], offset: 0, limit: 300 } as const;
  expect((await countTurns(() => one.search(query))).turns).toBeGreaterThan(8);
  const order: string[] = [];
  const families = async (name: string): Promise<ReadonlySet<unknown>> => {
    const { matches } = await one.search(query);
    order.push(name);
    return new Set(
      matches.map(({ resource }) => (resource as unknown as { name: [{ family: string }] }).name[0].family),
    );
  };
  const first = families('first');
  const commit = one.commit(patients(1, 'after')).then(() => order.push('commit'));
  const second = families('second');
  expect([...(await first)]).toEqual(['before']);
  await commit;
  expect([...(await second)].sort()).toEqual(['after', 'before']);
  expect(order).toEqual(['first', 'commit', 'second']);
});

test('no call sees a part of a commit, and no two commits mix', async () => {
  PACE.turnMs = 0;
  const one = store();
  await one.commit(patients(250, 'before'));
  const keys = [0, 100, 249].map(patientKey);
  const commit = async (name: string): Promise<string> => {
    const writes = patients(250, name);
    if (name === 'failing') writes[249] = { ...writes[249]!, expect: { version: null } } as Write;
    try {
      await one.commit(writes);
      return name;
    } catch (error) {
      return (error as FhirError).code;
    }
  };
  const commits = [
    ['a', 'failing'],
    ['b', 'c'],
  ].map(async (names) => {
    const outcomes: string[] = [];
    for (const name of names) outcomes.push(await commit(name));
    return outcomes;
  });
  let isOver = false;
  const done = Promise.all(commits).finally(() => (isOver = true));
  const seen = new Set<string>();
  while (!isOver) {
    const results = await one.read(keys);
    const { matches } = await one.search(LAST_PATIENTS);
    const names = new Set([...results, ...matches].map((result) => JSON.stringify((result as Found).resource.name)));
    expect([...names]).toHaveLength(1);
    seen.add([...names][0]!);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
  }
  expect(await done).toEqual([
    ['a', 'precondition-failed'],
    ['b', 'c'],
  ]);
  expect(seen.size).toBeGreaterThan(1);
  expect((await one.history(patientKey(0), { offset: 0, limit: 10 })).total).toBe(4);
});

test('what waits for a long commit ends with its own call', async () => {
  PACE.turnMs = 0;
  const one = store();
  const writes = patients(3_000).map((write) => ({ ...write, kind: 'delete' }) as Write);
  const commit = one.commit(writes);
  for (let turn = 0; turn < 150; turn++) await nextTurn();
  const resume = holdTurns();
  const late = one.read([patientKey(0)], { deadline: performance.now() });
  await expect(late).rejects.toMatchObject({ code: 'aborted', details: { deadline: true } });
  const control = new AbortController();
  const cancelled = one.commit(patients(1), { signal: control.signal });
  control.abort();
  await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
  const closed = one.close();
  await expect(one.read([patientKey(0)])).rejects.toMatchObject({ code: 'unavailable' });
  resume();
  expect(await commit).toHaveLength(3_000);
  await closed;
});

/** Keeps work that gives other work a turn from going on, until the function it answers is called. */
function holdTurns(): () => void {
  const held: (() => void)[] = [];
  vi.stubGlobal('setImmediate', (callback: () => void) => void held.push(callback));
  return () => {
    vi.unstubAllGlobals();
    for (const callback of held) callback();
  };
}

test('a long commit fails at the first write that fails, and leaves nothing', async () => {
  const circular: Record<string, unknown> = { resourceType: 'Patient', id: 'p250' };
  circular['in'] = circular;
  const one = store();
  await one.commit([put({ resourceType: 'Patient', id: 'p100' })]);
  const writes = patients(300);
  writes[250] = put(circular as unknown as AnyResource);
  writes[100] = { ...writes[100]!, expect: { version: null } } as Write;
  await expect(one.commit(writes)).rejects.toMatchObject({ code: 'precondition-failed', details: { index: 100 } });
  writes[100] = put({ resourceType: 'Patient', id: 'p100' });
  await expect(one.commit(writes)).rejects.toMatchObject({ code: 'unprocessable' });
  expect(await one.read([{ project: 'p', type: 'Patient', id: 'p0' }])).toEqual([{ status: 'missing' }]);
});

test('a long commit ends with its signal, and leaves nothing', async () => {
  PACE.turnMs = 0;
  const control = new AbortController();
  const one = store();
  setImmediate(() => control.abort());
  const failure = (await one.commit(patients(300), { signal: control.signal }).catch((error) => error)) as FhirError;
  expect(failure.code).toBe('aborted');
  expect(await one.read([{ project: 'p', type: 'Patient', id: 'p0' }])).toEqual([{ status: 'missing' }]);
});
