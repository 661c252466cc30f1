import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  windowBounds,
  type CursorPart,
  cutPage,
  type MatchOrder,
  neighbourOf,
  openingWindow,
  type PageWindow,
  type WindowedPage,
} from '../../src/interactions/pages.js';
import { cases, SEED } from '../support/chance.js';

/** Matches are numbers. The position of a number is the number itself. */
const order: MatchOrder<number> = {
  position: (match) => ({ values: [], id: String(match) }),
  end: { values: [], id: '~' },
};

/** A page of the numbers from 0 to `total`, as a store returns it. */
function pageOf(total: number, window: PageWindow, counted: boolean): WindowedPage<number> {
  const { offset, after, before } = windowBounds(window);
  const all = Array.from({ length: total }, (_, index) => index);
  const limit = window.count === undefined ? total : window.count + 1;
  const from = after === undefined ? all : all.filter((one) => one > Number(after.id));
  if (before === undefined)
    return cutPage(window, { matches: from.slice(offset, offset + limit), ...(counted ? { total } : {}) });
  const until = from.filter((one) => before.id === order.end.id || one < Number(before.id));
  return cutPage(window, { matches: limit === 0 ? [] : until.slice(-limit), ...(counted ? { total } : {}) });
}

/** The pages from a page on in a direction, to the last. */
function walk(total: number, start: PageWindow, part: CursorPart, counted: boolean): readonly WindowedPage<number>[] {
  const pages: WindowedPage<number>[] = [];
  for (let window: PageWindow | undefined = start; window !== undefined && pages.length < 100;) {
    const page = pageOf(total, window, counted);
    pages.push(page);
    window = neighbourOf(part, page, order);
  }
  return pages;
}

const size = fc.integer({ min: 1, max: 5 });
const total = fc.integer({ min: 0, max: 17 });

test('pages have every match once, forwards and back', () => {
  fc.assert(
    fc.property(total, size, fc.boolean(), (count, pageSize, counted) => {
      const all = Array.from({ length: count }, (_, index) => index);
      const forwards = walk(count, openingWindow(pageSize, 0), 'next', counted);
      expect(forwards.flatMap(({ matches }) => matches)).toEqual(all);
      expect(forwards.map(({ window }) => window.offset)).toEqual(forwards.map((_, index) => index * pageSize));
      const last = neighbourOf('last', forwards[0]!, order);
      expect(last === undefined).toBe(count === 0);
      if (last === undefined) return;
      const back = walk(count, last, 'previous', counted);
      expect(back.flatMap(({ matches }) => [...matches].reverse())).toEqual([...all].reverse());
      expect(back[0]!.window.offset).toBe(counted ? Math.max(0, count - pageSize) : null);
      expect(neighbourOf('first', back[0]!, order)).toEqual(openingWindow(pageSize, 0));
    }),
    { seed: SEED, numRuns: cases(200, 100) },
  );
});

test('from any page, next and previous are inverse', () => {
  fc.assert(
    fc.property(total, size, fc.nat({ max: 20 }), (count, pageSize, offset) => {
      const page = pageOf(count, openingWindow(pageSize, offset), false);
      const next = neighbourOf('next', page, order);
      if (next === undefined) return;
      const previous = neighbourOf('previous', pageOf(count, next, false), order);
      expect(pageOf(count, previous!, false).matches).toEqual(page.matches);
    }),
    { seed: SEED, numRuns: cases(200, 100) },
  );
});

describe('there is no other page', () => {
  test.each([
    ['without _count: all matches are one page', undefined, 3],
    ['if a page is empty', 0, 3],
  ])('%s', (_, count, matches) => {
    const page = pageOf(matches, openingWindow(count, 0), true);
    for (const part of ['first', 'previous', 'next', 'last'] as const)
      expect(neighbourOf(part, page, order)).toBeUndefined();
  });
});

test('a page beyond the last leads back to the last', () => {
  const beyond = pageOf(5, openingWindow(2, 20), true);
  expect(beyond.matches).toEqual([]);
  expect(pageOf(5, neighbourOf('previous', beyond, order)!, true).matches).toEqual([3, 4]);
  expect(neighbourOf('next', beyond, order)).toBeUndefined();
});
