import { type DateInterval, isFinerThanMillisecond, parseDate } from '../fhir/date.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages/quote.js';

/**
 * The first instant of a version that a `_since` can name. ISO 8601, UTC.
 *
 * @throws FhirError `invalid` - neither an instant nor a date
 */
export function readSince(text: string): string {
  const low = parseDate(text)?.low;
  // Versions are of whole milliseconds.
  if (low !== undefined) return new Date(isFinerThanMillisecond(text) ? low + 1 : low).toISOString();
  throw new FhirError('invalid', `"_since" takes an instant, not ${quote(text)}`);
}

/**
 * The interval that an `_at` names: the whole day of a date.
 *
 * @throws FhirError `invalid` - neither an instant nor a date
 */
export function readAt(text: string): DateInterval {
  const interval = parseDate(text);
  if (interval !== undefined) return interval;
  throw new FhirError('invalid', `"_at" takes an instant or a date, not ${quote(text)}`);
}
