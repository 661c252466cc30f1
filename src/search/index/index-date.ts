import { BEGINNING_OF_TIME, END_OF_TIME, parseDate, type DateInterval } from '../../fhir/date.js';
import { isJsonObject } from '../../fhir/resource.js';
import type { ValueIndexer } from './value-indexer.js';
import type { IndexWriter } from './index-writer.js';

/**
 * Date values. See https://hl7.org/fhir/R4/search.html#date.
 *
 * A Period without start or end is open on that side; without both it has no value. A Timing spans its events and
 * bounds.
 */
export function indexDate(type: string): ValueIndexer | undefined {
  return INDEXERS.get(type);
}

const INDEXERS: ReadonlyMap<string, ValueIndexer> = new Map<string, ValueIndexer>([
  ['date', indexText],
  ['dateTime', indexText],
  ['instant', indexText],
  // Medplum indexes some dates that are declared as strings; other text is skipped.
  ['string', indexText],
  ['Period', (value, writer) => add(periodInterval(value), writer)],
  ['Timing', (value, writer) => add(timingInterval(value), writer)],
]);

function indexText(value: unknown, writer: IndexWriter): void {
  add(textInterval(value), writer);
}

function textInterval(value: unknown): DateInterval | undefined {
  return typeof value === 'string' ? parseDate(value) : undefined;
}

function periodInterval(period: unknown): DateInterval | undefined {
  if (!isJsonObject(period)) return undefined;
  const start = textInterval(period.start);
  const end = textInterval(period.end);
  if (start === undefined && end === undefined) return undefined;
  const low = start?.low ?? BEGINNING_OF_TIME;
  const high = end?.high ?? END_OF_TIME;
  return low < high ? { low, high } : undefined;
}

function timingInterval(timing: unknown): DateInterval | undefined {
  if (!isJsonObject(timing)) return undefined;
  const bounds = isJsonObject(timing.repeat) ? periodInterval(timing.repeat.boundsPeriod) : undefined;
  let low = bounds?.low ?? Infinity;
  let high = bounds?.high ?? -Infinity;
  for (const event of Array.isArray(timing.event) ? (timing.event as readonly unknown[]) : []) {
    const interval = textInterval(event);
    if (interval === undefined) continue;
    low = Math.min(low, interval.low);
    high = Math.max(high, interval.high);
  }
  return low < high ? { low, high } : undefined;
}

function add(interval: DateInterval | undefined, writer: IndexWriter): void {
  if (interval !== undefined) writer.add({ kind: 'date', low: interval.low, high: interval.high });
}
