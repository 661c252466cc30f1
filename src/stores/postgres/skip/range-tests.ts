import type { ValueTest } from '../../../search/criteria/value-test.js';

/**
 * Every interval that starts from `start` up to before `next`, wherever it ends, passes a test. See sql/intervals.ts.
 *
 * @param next undefined: it starts at `start`
 */
export function matchesSurely(test: ValueTest, start: number, next?: number): boolean {
  if (test.kind === 'quantity' && (test.system !== undefined || test.code !== undefined)) return false;
  if (test.kind !== 'date' && test.kind !== 'number' && test.kind !== 'quantity') return false;
  const isBefore = (bound: number): boolean => (next === undefined ? start < bound : next <= bound);
  switch (test.prefix) {
    case 'gt':
      return start > test.high;
    case 'ge':
      // A period that starts within the asked one ends within it or after it.
      return start >= (test.kind === 'date' ? test.low : test.high);
    case 'sa':
      return test.kind === 'date' ? start >= test.high : start > test.high;
    case 'lt':
    case 'le':
      return isBefore(test.low);
    default:
      return false;
  }
}

/** No interval that starts there passes a test, except a long one that ends in its range. */
export function failsSurely(test: ValueTest, start: number): boolean {
  if (test.kind !== 'date' && test.kind !== 'number' && test.kind !== 'quantity') return false;
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
