import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Concurrency, FhirError } from '../../../src/index.js';
import { parseConcurrency } from '../../../src/access/limits/call-limits.js';
import { type Place, type Turn, Turns } from '../../../src/access/turns/in-turn.js';
import { cases } from '../../support/chance.js';

/** The turns of a store, by a clock of the test, with the order in which requests began. */
function line(options: Partial<Concurrency>) {
  const limits = parseConcurrency(options);
  let time = 0;
  const turns = new Turns(() => time);
  const order: string[] = [];
  const open = new Map<string, Turn>();
  const places = new Map<string, Place>();
  /** `clinic/ann#1`, of which the project and the caller are the first two. */
  const ask = (name: string): void => {
    const [project = '', caller = ''] = name.split(/[/#]/);
    const taken = turns.take({ project, caller }, limits);
    const begin = (turn: Turn): void => {
      order.push(name);
      open.set(name, turn);
    };
    if (!('leave' in taken)) return begin(taken);
    places.set(name, taken);
    taken.turn.then(begin, () => order.push(`${name} left`));
  };
  /** Ends a request after it took some time. */
  const end = async (name: string, took = 0): Promise<void> => {
    time += took;
    turns.end(open.get(name)!);
    open.delete(name);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { turns, order, open, places, ask, end };
}

describe('turns', () => {
  test('are given at once below all limits, and in order of arrival above', async () => {
    const { turns, order, ask, end } = line({ caller: 2 });
    for (const name of ['c/a#1', 'c/a#2', 'c/a#3', 'c/a#4', 'c/b#1']) ask(name);
    expect(order).toEqual(['c/a#1', 'c/a#2', 'c/b#1']);
    await end('c/a#2');
    await end('c/a#1');
    expect(order.slice(3)).toEqual(['c/a#3', 'c/a#4']);
    for (const name of ['c/a#3', 'c/a#4', 'c/b#1']) await end(name);
    expect([turns.size, turns.projects]).toEqual([0, 0]);
  });

  test('of a project leave room for others', () => {
    const { order, ask } = line({ total: 4, project: 3 });
    for (const name of ['greedy/a#1', 'greedy/a#2', 'greedy/b#1', 'greedy/b#2', 'modest/a#1']) ask(name);
    expect(order).toEqual(['greedy/a#1', 'greedy/a#2', 'greedy/b#1', 'modest/a#1']);
  });

  test('go to the project with the fewest running requests, then to the one with the least used time', async () => {
    const { order, ask, end } = line({ total: 1 });
    ask('greedy/a#1');
    for (let n = 2; n <= 6; n += 1) ask(`greedy/a#${n}`);
    for (const name of ['modest/a#1', 'modest/a#2', 'other/a#1']) ask(name);
    await end('greedy/a#1', 100);
    await end('modest/a#1', 10);
    await end('other/a#1', 10);
    await end('modest/a#2', 10);
    // Only the greedy project is left, and no other project waits.
    await end('greedy/a#2', 100);
    ask('late/a#1');
    await end('greedy/a#3', 100);
    expect(order).toEqual([
      'greedy/a#1',
      'modest/a#1',
      'other/a#1',
      'modest/a#2',
      'greedy/a#2',
      'greedy/a#3',
      'late/a#1',
    ]);
  });

  test('inside a project are shared equally among its callers', async () => {
    const { order, ask, end } = line({ project: 1 });
    ask('c/busy#1');
    for (const name of ['c/busy#2', 'c/busy#3', 'c/ann#1', 'c/bo#1']) ask(name);
    await end('c/busy#1', 50);
    await end('c/ann#1', 1);
    await end('c/bo#1', 1);
    await end('c/busy#2', 50);
    expect(order).toEqual(['c/busy#1', 'c/ann#1', 'c/bo#1', 'c/busy#2', 'c/busy#3']);
  });

  test('a greedy project beside twenty modest projects gets its share of time', async () => {
    const { order, open, ask, end } = line({ total: 1, queue: 1_000 });
    const asked = new Map<string, number>();
    const next = (who: string): void => {
      asked.set(who, (asked.get(who) ?? 0) + 1);
      ask(`${who}/x#${asked.get(who)}`);
    };
    for (let n = 0; n < 200; n += 1) next('greedy');
    const modest = Array.from({ length: 20 }, (_, index) => `m${index}`);
    modest.forEach(next);
    const used = new Map<string, number>();
    // Each modest project sends its next request as soon as it was answered.
    for (let served = 0; served < 2_000; served += 1) {
      const [name] = open.keys();
      const [who = ''] = name!.split('/');
      const took = who === 'greedy' ? 100 : 2;
      used.set(who, (used.get(who) ?? 0) + took);
      await end(name!, took);
      if (who !== 'greedy') next(who);
    }
    const greedy = order.filter((name) => name.startsWith('greedy')).length;
    expect(greedy).toBeLessThan(5);
    const least = Math.min(...modest.map((who) => used.get(who) ?? 0));
    // No modest project had less time than the greedy project, up to one of its turns.
    expect(used.get('greedy')! - least).toBeLessThanOrEqual(300);
    expect(Math.max(...modest.map((who) => used.get(who)!)) - least).toBeLessThanOrEqual(2 * 2);
  });

  test('beyond the queue are throttled: for a caller at half of it, for a project at all of it', () => {
    const { turns, ask } = line({ total: 1, queue: 4 });
    for (const name of ['c/a#1', 'c/a#2', 'c/a#3']) ask(name);
    const refusal = (name: string): unknown => {
      try {
        ask(name);
      } catch (error) {
        return error instanceof FhirError ? [error.code, error.message, error.details] : error;
      }
      return undefined;
    };
    expect(refusal('c/a#4')).toEqual([
      'throttled',
      '2 requests of this caller are waiting already; try again later',
      { limit: 'concurrency', max: 2, retryAfter: 1 },
    ]);
    for (const name of ['c/b#1', 'c/d#1']) ask(name);
    expect(refusal('c/e#1')).toEqual([
      'throttled',
      '4 requests of this project are waiting already; try again later',
      { limit: 'concurrency', max: 4, retryAfter: 1 },
    ]);
    expect(refusal('other/a#1')).toBeUndefined();
    expect([turns.size, turns.projects]).toEqual([6, 2]);
  });

  test('a request that leaves the queue is forgotten', async () => {
    const { turns, order, places, ask, end } = line({ total: 1 });
    for (const name of ['c/a#1', 'd/b#1', 'c/a#2']) ask(name);
    places.get('d/b#1')!.leave(new FhirError('aborted', 'gone'));
    places.get('d/b#1')!.leave(new FhirError('aborted', 'twice'));
    expect([turns.size, turns.projects]).toEqual([2, 1]);
    await end('c/a#1');
    expect(order).toEqual(['c/a#1', 'd/b#1 left', 'c/a#2']);
    // Too late: it is its turn.
    places.get('c/a#2')!.leave(new FhirError('aborted', 'late'));
    expect(turns.size).toBe(1);
    await end('c/a#2');
    expect([turns.size, turns.projects]).toEqual([0, 0]);
  });

  test('never exceed a limit, and never stall', async () => {
    const limit = fc.integer({ min: 1, max: 4 });
    const request = fc.record({ project: fc.integer({ min: 0, max: 3 }), caller: fc.integer({ min: 0, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ total: limit, project: limit, caller: limit }),
        fc.array(request, { maxLength: 40 }),
        fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
        async (limits, requests, picks) => {
          const { turns, order, open, ask, end } = line({ ...limits, queue: 1_000 });
          requests.forEach(({ project, caller }, index) => ask(`p${project}/c${caller}#${index}`));
          const runs = (part: string): number => [...open.keys()].filter((name) => name.startsWith(part)).length;
          for (const pick of picks) {
            expect(open.size).toBeLessThanOrEqual(limits.total);
            for (let p = 0; p < 4; p += 1) {
              expect(runs(`p${p}/`)).toBeLessThanOrEqual(limits.project);
              for (let c = 0; c < 3; c += 1) expect(runs(`p${p}/c${c}#`)).toBeLessThanOrEqual(limits.caller);
            }
            const running = [...open.keys()];
            if (running.length === 0) break;
            await end(running[pick % running.length]!, pick % 10);
          }
          expect(order.length).toBe(requests.length);
          expect([turns.size, turns.projects]).toEqual([0, 0]);
        },
      ),
      { numRuns: cases(60) },
    );
  });
});

test.each([
  [{ totals: 1 }, 'There is no limit called "concurrency.totals"'],
  [{ total: 0 }, 'Limit "concurrency.total" must be a whole number from 1 up'],
  [{ queue: 1.5 }, 'Limit "concurrency.queue" must be a whole number from 1 up'],
  [4, 'Limit "concurrency" must be an object'],
])('limits of %o are refused', (options, message) => {
  expect(() => parseConcurrency(options as never)).toThrow(message);
});
