import type { Criteria, LastUpdatedCriteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { DAY } from '../intervals.js';
import type { DateTest, NumberTest, QuantityTest, ValueTest } from '../../../search/criteria/value-test.js';

/** Criteria whose matches are a range of the order of a date, a number or the time of the last update. */
export type RangeCriteria = MatchCriteria | LastUpdatedCriteria;

export function isRange(criteria: Criteria): criteria is RangeCriteria {
  return criteria.kind === 'last-updated' || (criteria.kind === 'match' && isOfIntervals(criteria.test));
}

/** Whether a test compares intervals: see sql/intervals.ts. */
export function isOfIntervals(test: ValueTest): test is DateTest | NumberTest | QuantityTest {
  return test.kind === 'date' || test.kind === 'number' || test.kind === 'quantity';
}

/**
 * True if every interval that starts in `[start, next)`, wherever it ends, passes a test. See sql/intervals.ts.
 *
 * @param next undefined: the interval starts exactly at `start`
 */
export function matchesSurely(test: ValueTest, start: number, next?: number): boolean {
  if (!isOfIntervals(test) || asksForUnit(test)) return false;
  const isBefore = (bound: number): boolean => (next === undefined ? start < bound : next <= bound);
  switch (test.prefix) {
    case 'gt':
      return start > test.high;
    case 'ge':
      // A period that starts within the searched one ends within it or after it.
      return start >= (test.kind === 'date' ? test.low : test.high);
    case 'sa':
      return test.kind === 'date' ? start >= test.high : start > test.high;
    case 'lt':
      return isBefore(test.low);
    case 'le':
      return isBefore(test.low) || (test.kind !== 'date' && start <= test.low && next === undefined);
    case 'ap':
    case 'po':
      // An interval that starts within the searched one overlaps it.
      return start >= test.low && isBefore(test.high);
    default:
      return false;
  }
}

/**
 * {@link matchesSurely} for short intervals only: see sql/intervals.ts. A short date ends at most a day later; any
 * other short value is a point. False if a long interval that ends after the searched period passes too: with `le`, one
 * that begins before it.
 */
export function matchesIfShort(test: ValueTest, start: number, next?: number): boolean {
  const end = endOfShort(test);
  if (end === undefined) return false;
  const { prefix, low } = test as DateTest | NumberTest | QuantityTest;
  if ((prefix === 'eq' || (prefix === 'le' && test.kind === 'date')) && start < low) return false;
  if (test.kind === 'date') return (next === undefined ? start : next - 1) + DAY <= end;
  if (prefix === 'eq' && low === end) return next === undefined && start === low;
  return next === undefined ? start < end : next <= end;
}

/** The bound before which an interval must end; undefined for tests without such a bound, and for tests of a unit. */
export function endOfShort(test: ValueTest): number | undefined {
  if (!isOfIntervals(test) || asksForUnit(test)) return undefined;
  switch (test.prefix) {
    case 'eq':
      return test.high;
    case 'le':
      return test.kind === 'date' ? test.high : undefined;
    case 'eb':
      return test.low;
    default:
      return undefined;
  }
}

/** Whether the range has no upper end, so that a resource passes if its largest value does. */
export function isOpenAbove(test: ValueTest): boolean {
  return 'prefix' in test && ['gt', 'ge', 'sa'].includes(test.prefix);
}

/** Whether the range has no lower end, so that a resource passes if its smallest value does. */
export function isOpenBelow(test: ValueTest): boolean {
  return 'prefix' in test && ['lt', 'le', 'eb'].includes(test.prefix);
}

/** True if no interval that starts at `start` passes a test, except a long interval that ends in the tested range. */
export function failsSurely(test: ValueTest, start: number): boolean {
  if (!isOfIntervals(test)) return false;
  const { prefix, low, high } = test;
  const isPoint = test.kind !== 'date' && low === high;
  switch (prefix) {
    case 'eq':
      return isPoint ? start !== low : start < low || start >= high;
    case 'lt':
    case 'eb':
      return start >= low;
    case 'le':
      return test.kind === 'date' ? start >= high : start > low;
    case 'sa':
      return test.kind === 'date' ? start < high : start <= high;
    case 'gt':
      return test.kind !== 'date' && start <= high;
    default:
      return false;
  }
}

/** Whether a resource can pass only by the value that orders it, or by a long interval that begins before the range. */
export function isByStart(test: ValueTest): boolean {
  if (!('prefix' in test)) return false;
  // The largest value may have another unit than a smaller value that passes.
  if (asksForUnit(test)) return false;
  if (test.prefix === 'lt' || test.prefix === 'sa') return true;
  return test.kind !== 'date' && ['gt', 'ge', 'le'].includes(test.prefix);
}

/** Whether a test also requires a unit or its system, so that bounds alone do not decide. */
export function asksForUnit(test: ValueTest): boolean {
  return test.kind === 'quantity' && (test.system !== undefined || test.code !== undefined);
}
