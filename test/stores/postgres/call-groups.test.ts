import { expect, test, vi } from 'vitest';
import { FhirError } from '../../../src/index.js';
import { inDoubt } from '../../../src/store.js';
import { CallGroups } from '../../../src/stores/postgres/database/call-groups.js';

type Outcome = PromiseWithResolvers<readonly string[]>;

/** Groups of calls whose work ends when the test says so. */
function held(fitting: () => (call: string) => boolean = () => () => true) {
  const begun: (readonly [names: string, outcome: Outcome])[] = [];
  const begin = (names: readonly string[]): Promise<readonly string[]> => {
    const outcome = Promise.withResolvers<readonly string[]>();
    begun.push([names.join('+'), outcome]);
    return outcome.promise;
  };
  const groups = new CallGroups<string, string>({
    alone: async (call) => (await begin([call]))[0]!,
    together: begin,
    fitting,
    ended: inDoubt,
  });
  const names = (): readonly string[] => begun.map(([name]) => name);
  /** Ends the calls that began under these names. */
  const end = async (name: string, error?: Error): Promise<void> => {
    const [, outcome] = begun.findLast(([one]) => one === name)!;
    if (error === undefined) outcome.resolve(name.split('+').map((one) => one.toUpperCase()));
    else outcome.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { groups, names, end };
}

test('two calls run on their own, and later calls run as one group', async () => {
  const { groups, names, end } = held();
  const calls = ['a', 'b', 'c', 'd', 'e'].map((one) => groups.run(one, undefined));
  expect(names()).toEqual(['a', 'b']);
  await end('b');
  expect(names()).toEqual(['a', 'b', 'c+d+e']);
  await end('c+d+e');
  await end('a');
  expect(await Promise.all(calls)).toEqual(['A', 'B', 'C', 'D', 'E']);
  const late = groups.run('f', undefined);
  expect(names().at(-1)).toBe('f');
  await end('f');
  expect(await late).toBe('F');
});

test('calls that do not fit wait for the next group, in their order', async () => {
  const { groups, names, end } = held(() => {
    const group: string[] = [];
    return (call) => !group.includes(call) && group.push(call) > 0;
  });
  const calls = ['a', 'b', 'c', 'c', 'd'].map((one) => groups.run(one, undefined));
  await end('a');
  await end('b');
  expect(names()).toEqual(['a', 'b', 'c+d', 'c']);
  await end('c+d');
  await end('c');
  expect(await Promise.all(calls)).toEqual(['A', 'B', 'C', 'C', 'D']);
});

test('if a group fails, each of its calls runs on its own', async () => {
  const { groups, names, end } = held();
  const calls = ['a', 'b', 'c', 'd'].map((one) => groups.run(one, undefined));
  const outcomes = Promise.allSettled(calls);
  await end('a');
  await end('c+d', new Error('conflict'));
  expect(names()).toEqual(['a', 'b', 'c+d', 'c', 'd']);
  await end('c', new Error('conflict of c'));
  await end('d');
  await end('b');
  expect(
    (await outcomes).map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message)),
  ).toEqual(['A', 'B', 'conflict of c', 'D']);
});

test('if the result of a group is unknown, so is that of its calls', async () => {
  const { groups, names, end } = held();
  const calls = ['a', 'b', 'c', 'd'].map((one) => groups.run(one, undefined));
  const outcomes = Promise.allSettled(calls);
  await end('a');
  await end('c+d', inDoubt(new FhirError('unavailable', 'lost')));
  await end('b');
  expect(names()).toEqual(['a', 'b', 'c+d']);
  const unknown = { status: 'rejected', reason: { code: 'unavailable', details: { unknown: true } } };
  expect((await outcomes).slice(2)).toMatchObject([unknown, unknown]);
});

test('a call that ends while it waits never runs; while its group runs its outcome is unknown', async () => {
  const { groups, names, end } = held();
  const controllers = ['c', 'd', 'e'].map(() => new AbortController());
  const running = ['a', 'b'].map((one) => groups.run(one, undefined));
  const calls = ['c', 'd', 'e'].map((one, index) => groups.run(one, controllers[index]!.signal));
  const outcomes = Promise.allSettled(calls);
  controllers[0]!.abort();
  await end('a');
  controllers[1]!.abort();
  await end('d+e', new Error('conflict'));
  expect(names()).toEqual(['a', 'b', 'd+e', 'e']);
  await end('e');
  await end('b');
  await Promise.all(running);
  expect(await outcomes).toMatchObject([
    { reason: { code: 'aborted', details: undefined } },
    { reason: { code: 'aborted', details: { unknown: true } } },
    { value: 'E' },
  ]);
});

test('calls that never end do not block others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { groups, names, end } = held();
    const stuck = ['a', 'b'].map((one) => groups.run(one, undefined));
    const others = ['c', 'd'].map((one) => groups.run(one, undefined));
    vi.advanceTimersByTime(19);
    expect(names()).toEqual(['a', 'b']);
    vi.advanceTimersByTime(1);
    expect(names()).toEqual(['a', 'b', 'c+d']);
    await end('c+d');
    expect(await Promise.all(others)).toEqual(['C', 'D']);
    for (const name of ['a', 'b']) await end(name);
    await Promise.all(stuck);
  } finally {
    vi.useRealTimers();
  }
});
