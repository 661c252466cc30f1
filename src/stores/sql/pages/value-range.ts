import type { Criteria } from '../../../search/criteria/criteria.js';
import type { DateTest, NumberTest, QuantityTest, ValueTest } from '../../../search/criteria/value-test.js';
import { DAY } from '../intervals.js';
import { asksForUnit, isOfIntervals } from '../skip/range-tests.js';
import type { SqlValue } from '../sql.js';
import { compareValues, prefixEnd } from '../texts.js';

/**
 * The range of matching values in the order of a parameter, both ends included.
 *
 * A long interval (a stay of weeks, a Range of numbers) may match although it begins before `low`, if it ends after
 * `intervalsAfter`. Undefined `intervalsAfter`: no such interval matches.
 */
export interface ValueRange {
  readonly low?: number | string | undefined;
  readonly high?: number | string | undefined;
  readonly intervalsAfter?: number | undefined;
}

/** The range to which a condition restricts a parameter's order; undefined if it does not restrict it. */
export function rangeOf(criteria: Criteria, parameter: string): ValueRange | undefined {
  if (criteria.kind === 'match') return criteria.parameter === parameter ? testRange(criteria.test) : undefined;
  if (criteria.kind === 'last-updated') return parameter === '_lastUpdated' ? updatedRange(criteria.test) : undefined;
  if (criteria.kind !== 'or' || criteria.of.length === 0) return undefined;
  const ranges = criteria.of.map((one) => rangeOf(one, parameter));
  return ranges.every((range) => range !== undefined) ? ranges.reduce(hull) : undefined;
}

/** The intersection of two ranges. */
export function narrower(a: ValueRange, b: ValueRange): ValueRange {
  // The long intervals are those of the range that gives `low`. The condition of the other range must still hold for
  // them.
  const byLow = a.low === undefined || (b.low !== undefined && isBefore(a.low, b.low)) ? b : a;
  const high = a.high === undefined || (b.high !== undefined && isBefore(b.high, a.high)) ? b.high : a.high;
  return { low: byLow.low, intervalsAfter: byLow.intervalsAfter, high };
}

function hull(a: ValueRange, b: ValueRange): ValueRange {
  const low = a.low === undefined || b.low === undefined ? undefined : isBefore(a.low, b.low) ? a.low : b.low;
  const high = a.high === undefined || b.high === undefined ? undefined : isBefore(a.high, b.high) ? b.high : a.high;
  const intervalsAfter = Math.min(a.intervalsAfter ?? Infinity, b.intervalsAfter ?? Infinity);
  return { low, high, intervalsAfter: intervalsAfter === Infinity ? undefined : intervalsAfter };
}

export function isBefore(a: SqlValue, b: SqlValue): boolean {
  return compareValues(a, b) < 0;
}

/** The part of an order that a value belongs to. @param starts the first value of each part */
export function partWith(starts: readonly SqlValue[], value: SqlValue): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isBefore(value, starts[middle]!)) high = middle - 1;
    else low = middle;
  }
  return low;
}

function testRange(test: ValueTest): ValueRange | undefined {
  switch (test.kind) {
    case 'token': {
      const { code, folded } = test;
      if (code === undefined || test.negated === true || test.below === true) return undefined;
      if (folded === undefined) return { low: code, high: code };
      return isBefore(code, folded) ? { low: code, high: folded } : { low: folded, high: code };
    }
    case 'uri':
      if (test.comparator === 'equals') return { low: test.value, high: test.value };
      if (test.comparator !== 'starts-with' && test.comparator !== 'below') return undefined;
      return { low: test.value, high: prefixEnd(test.value) };
    case 'date':
      return dateRange(test);
    case 'number':
    case 'quantity':
      return numberRange(test);
    default:
      return undefined;
  }
}

function dateRange({ prefix, low, high }: DateTest): ValueRange | undefined {
  switch (prefix) {
    case 'eq':
      return { low, high };
    case 'ne':
      return undefined;
    case 'lt':
    case 'eb':
      return { high: low };
    case 'le':
      return { high };
    case 'sa':
      return { low: high };
    case 'gt':
      return { low: high - DAY, intervalsAfter: high };
    case 'ge':
      return { low: low - DAY, intervalsAfter: high };
    case 'ap':
    case 'po':
      return { low: low - DAY, high, intervalsAfter: low };
  }
}

function numberRange({ prefix, low, high }: NumberTest | QuantityTest): ValueRange | undefined {
  switch (prefix) {
    case 'eq':
      return { low, high };
    case 'ne':
      return undefined;
    case 'lt':
    case 'le':
    case 'eb':
      return { high: low };
    case 'sa':
      return { low: high };
    case 'gt':
    case 'ge':
      return { low: high, intervalsAfter: high };
    case 'ap':
    case 'po':
      return { low, high, intervalsAfter: low };
  }
}

/**
 * The part of an order in which every value is a match: all after `low`, all before `high`, or all between them. Undefined if
 * a value in the range may fail the test.
 */
export function innerRangeOf(test: ValueTest): Pick<ValueRange, 'low' | 'high'> | undefined {
  if (!isOfIntervals(test) || asksForUnit(test)) return undefined;
  switch (test.prefix) {
    case 'lt':
    case 'le':
      return { high: test.low };
    case 'ge':
      return { low: test.low };
    case 'gt':
    case 'sa':
      return { low: test.high };
    case 'ap':
    case 'po':
      return { low: test.low, high: test.high };
    default:
      return undefined;
  }
}

/** An instant lasts a millisecond, so no instant is a long interval that begins before the range. */
function updatedRange(test: DateTest): ValueRange | undefined {
  const range = dateRange(test);
  const low = test.prefix === 'gt' || test.prefix === 'sa' ? test.high : test.low;
  return range && { low: range.low === undefined ? undefined : low - 1, high: range.high };
}

/** {@link innerRangeOf} for instants: every instant between both ends of a range is a match. */
export function innerInstants(test: DateTest): Pick<ValueRange, 'low' | 'high'> | undefined {
  switch (test.prefix) {
    case 'ne':
      return undefined;
    case 'eq':
      return { low: test.low, high: test.high };
    case 'eb':
      return { high: test.low };
    case 'le':
      return { high: test.high };
    default:
      return innerRangeOf(test);
  }
}
