import { parseDate, type DateInterval } from '../../fhir/date.js';
import type { Prefix } from '../criteria/value-test.js';

/**
 * The searched interval of a date search; see `DateTest` in value-test.ts.
 *
 * `ap` widens the interval on both sides by 10 % of its distance from now; an interval that contains now is unchanged.
 * See https://hl7.org/fhir/R4/search.html#date.
 *
 * @param now milliseconds since 1970.
 * @returns undefined for text that is not a date.
 */
export function dateInterval(prefix: Prefix, text: string, now: number): DateInterval | undefined {
  const interval = parseDate(text);
  if (interval === undefined || prefix !== 'ap') return interval;
  const gap = Math.max(0, interval.low - now, now - interval.high);
  const margin = Math.round(gap / 10);
  return { low: interval.low - margin, high: interval.high + margin };
}
