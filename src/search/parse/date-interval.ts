import { parseDate, type DateInterval } from '../../fhir/date.js';
import type { Prefix } from '../criteria/criteria.js';

/**
 * The interval that a search for a date compares with, see `DateTest` in criteria.ts.
 *
 * For `ap` it reaches on both sides a tenth of the gap between it and now farther; a date that now lies in stays as it is.
 * See https://hl7.org/fhir/R4/search.html#date.
 *
 * @param now milliseconds since 1970.
 * @returns undefined for a text that is no date.
 */
export function dateInterval(prefix: Prefix, text: string, now: number): DateInterval | undefined {
  const interval = parseDate(text);
  if (interval === undefined || prefix !== 'ap') return interval;
  const gap = Math.max(0, interval.low - now, now - interval.high);
  const margin = Math.round(gap / 10);
  return { low: interval.low - margin, high: interval.high + margin };
}
