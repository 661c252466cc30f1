import { expect, test } from 'vitest';
import type { DateTest, NumberTest, Prefix } from '../../src/search/criteria/value-test.js';
import { testValue } from '../../src/search/evaluate/test-value.js';
import { endOfShort, failsSurely, matchesIfShort, matchesSurely } from '../../src/stores/sql/skip/range-tests.js';
import { below, createRandom, oneOf } from '../../src/testing/random.js';
import { cases, SEED } from '../support/chance.js';

const PREFIXES: readonly Prefix[] = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap', 'po'];

test('the result for all intervals from a start applies to each of them', () => {
  const random = createRandom(SEED);
  const counts = { surely: 0, never: 0 };
  for (let round = 0; round < cases(4_000); round++) {
    const kind = oneOf(['date', 'number', 'quantity'] as const, random);
    const low = below(11, random);
    const high = low + (kind === 'date' ? 1 + below(4, random) : below(3, random));
    const asked = { kind, prefix: oneOf(PREFIXES, random), low, high } as DateTest | NumberTest;
    const start = below(13, random);
    const end = start + (kind === 'date' ? 1 : 0) + below(5, random);
    const passes = testValue(asked, { kind, low: start, high: end });
    const next = start + 1 + below(3, random);
    const first = next - 1 - below(3, random);
    const isKnown = [matchesSurely(asked, start), start >= first && start < next && matchesSurely(asked, first, next)];
    if (isKnown.includes(true)) {
      counts.surely += 1;
      expect([asked, start, end, passes]).toEqual([asked, start, end, true]);
    }
    // A long interval is found by its end.
    if (failsSurely(asked, start) && !(asked.prefix === 'gt' && end > start)) {
      counts.never += 1;
      expect([asked, start, end, passes]).toEqual([asked, start, end, false]);
    }
  }
  expect(Math.min(counts.surely, counts.never)).toBeGreaterThan(200);
});

test('the result for short intervals applies to each of them, and others fail by their end', () => {
  const random = createRandom(SEED);
  let known = 0;
  for (let round = 0; round < cases(4_000); round++) {
    const kind = oneOf(['date', 'number', 'quantity'] as const, random);
    const unit = kind === 'date' ? DAY / 4 : 1;
    const low = below(30, random) * unit;
    const high = low + (kind === 'date' ? 1 + below(20, random) : below(12, random)) * unit;
    const asked = { kind, prefix: oneOf(PREFIXES, random), low, high } as DateTest | NumberTest;
    const start = below(40, random) * unit;
    const isLong = random() < 0.3;
    const length = kind === 'date' ? 1 + below(4, random) : 0;
    const end = start + (isLong ? 5 + below(9, random) : length) * unit;
    const next = start + (1 + below(4, random)) * unit;
    const isKnown = matchesIfShort(asked, start) || matchesIfShort(asked, start, next);
    if (!isKnown) continue;
    const passes = testValue(asked, { kind, low: start, high: end });
    known += 1;
    if (!isLong) expect([asked, start, end, passes]).toEqual([asked, start, end, true]);
    else if (!passes) expect(end).toBeGreaterThanOrEqual(endOfShort(asked)!);
  }
  expect(known).toBeGreaterThan(100);
});

const DAY = 86_400_000;
