import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { expandAll } from '../../src/access/terminology/expand-concepts.js';
import type { AnyResource } from '../../src/index.js';
import { PACE, Pace } from '../../src/platform/pace.js';
import { projectTerminology } from '../../src/terminology.js';
import { SETS, valueSet } from './resources.js';

const { turnMs } = PACE;
// Every piece of work takes too long.
beforeEach(() => void (PACE.turnMs = 0));
afterEach(() => {
  PACE.turnMs = turnMs;
  vi.restoreAllMocks();
});

const context = { project: 'clinic', search: () => Promise.resolve([]) };
const url = 'http://example.org/many';
const many = (count: number): AnyResource => ({
  ...{ resourceType: 'CodeSystem', id: 'many', url, status: 'active', content: 'complete' },
  ...{ concept: Array.from({ length: count }, (_, n) => ({ code: `c${n}`, concept: [{ code: `c${n}-1` }] })) },
});

/** The codes that one of these codes subsumes. */
const FEW = valueSet('few', {
  include: [{ system: url, filter: [{ property: 'concept', op: 'is-a', value: 'c7' }] }],
});

test('a code system is indexed, and a value set expanded, in turns with other work', async () => {
  const next = vi.spyOn(Pace.prototype, 'next');
  const terminology = projectTerminology({ resources: [many(3_000), FEW] });
  const request = { kind: 'value-set', url: `${SETS}few` } as const;
  expect((await terminology.expand(request, context)).map(({ code }) => code)).toEqual(['c7', 'c7-1']);
  // 64 codes are read in a step, and linked in another.
  expect(next.mock.calls.length).toBeGreaterThanOrEqual(2 * Math.floor(6_000 / 64));
});

test('the end of a call ends its expansion, but not the index that others wait for', async () => {
  const ended = new AbortController();
  const terminology = projectTerminology({ resources: [many(100), FEW] });
  const request = { kind: 'value-set', url: `${SETS}few` } as const;
  const both = [{ ...context, signal: ended.signal }, context].map((one) => terminology.expand(request, one));
  ended.abort();
  const [aborted, answered] = await Promise.allSettled(both);
  expect(aborted).toMatchObject({ status: 'rejected', reason: { code: 'aborted' } });
  expect(answered).toMatchObject({ status: 'fulfilled', value: { length: 2 } });
});

test('an expansion of many codes yields to other work before the search continues', async () => {
  const expanded = async (count: number): Promise<number> => {
    const next = vi.spyOn(Pace.prototype, 'next').mockClear();
    const concepts = Array.from({ length: count }, (_, n) => ({ system: url, code: `c${n}` }));
    const terminology = { ...projectTerminology(), expand: () => Promise.resolve(concepts) };
    await expandAll(new Map([['a', { kind: 'value-set', url }]]), terminology, context, undefined);
    return next.mock.calls.length;
  };
  expect(await expanded(1_000)).toBe(0);
  expect(await expanded(1_001)).toBe(1);
});
