/**
 * A half-open interval of time `[low, high)` in milliseconds since 1970-01-01T00:00:00Z.
 *
 * Every FHIR date is an interval: `2020-05` is the whole of May. A Period without start or end reaches to
 * {@link BEGINNING_OF_TIME} or {@link END_OF_TIME}. See https://hl7.org/fhir/R4/search.html#date.
 */
export interface DateInterval {
  readonly low: number;
  readonly high: number;
}

/** Below every date FHIR can write (year 0001), and exact as a 64-bit integer. */
export const BEGINNING_OF_TIME = -1e15;
/** Above every date FHIR can write (year 9999), and exact as a 64-bit integer. */
export const END_OF_TIME = 1e15;

const DATE = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(Z|[+-]\d{2}:\d{2})?)?)?)?$/;

/**
 * Reads a FHIR date, dateTime or instant, of any precision, as the interval it denotes.
 *
 * A text without zone counts as UTC. Minutes without seconds are accepted, as search strings may leave them out.
 * A fraction finer than a millisecond denotes the millisecond that it is in: see {@link isFinerThanMillisecond}.
 *
 * @returns undefined for anything that is not a date, including days and hours that do not exist (`2021-02-30`).
 */
export function parseDate(text: string): DateInterval | undefined {
  // Resources of one encounter have the same few dates: three of four were read before.
  let interval = LATEST.get(text);
  if (interval === undefined) {
    interval = readDate(text);
    if (interval === undefined) return undefined;
    if (LATEST.size === MOST_LATEST) LATEST.clear();
    LATEST.set(text, interval);
  }
  return interval;
}

/** Some of the dates that were read last. */
const LATEST = new Map<string, DateInterval>();
const MOST_LATEST = 64;

function readDate(text: string): DateInterval | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const y = Number(year);
  if (month === undefined) return { low: utc(y, 0, 1), high: utc(y + 1, 0, 1) };
  const m = Number(month) - 1;
  if (m < 0 || m > 11) return undefined;
  if (day === undefined) return { low: utc(y, m, 1), high: utc(y, m + 1, 1) };
  const d = Number(day);
  if (d < 1 || (d > 28 && new Date(utc(y, m, d)).getUTCMonth() !== m)) return undefined;
  const midnight = utc(y, m, d);
  if (hour === undefined) return { low: midnight, high: utc(y, m, d + 1) };
  const h = Number(hour);
  const min = Number(minute);
  const s = Number(second ?? 0);
  const offset = zoneOffset(zone);
  // 24:00 is allowed by ISO 8601 but not by FHIR; second 60 is a leap second and is read as the start of the next
  // second.
  if (h > 23 || min > 59 || s > 60 || offset === undefined) return undefined;
  const base = midnight + ((h * 60 + min) * 60 + s) * 1000 - offset;
  if (second === undefined) return { low: base, high: base + 60_000 };
  if (fraction === undefined) return { low: base, high: base + 1000 };
  const step = fraction.length === 1 ? 100 : fraction.length === 2 ? 10 : 1;
  const low = base + Number(fraction.slice(0, 3).padEnd(3, '0'));
  return { low, high: low + step };
}

/**
 * Whether a date has a fraction finer than a millisecond.
 *
 * The millisecond of a stored date decides all comparisons with whole milliseconds. It does not decide comparisons with
 * other such fractions, so a search refuses these.
 */
export function isFinerThanMillisecond(text: string): boolean {
  return FINE.test(text);
}

const FINE = /\.\d{3}(\d+)/;

/**
 * Compares dates of any precision.
 *
 * @returns negative: all of the first one is earlier; positive: later; 0: neither; undefined: one is not a date
 */
export function compareDates(first: string, second: string): number | undefined {
  const [one, other] = [parseDate(first), parseDate(second)];
  if (one === undefined || other === undefined) return undefined;
  if (one.high <= other.low) return -1;
  if (one.low >= other.high) return 1;
  const [a, b] = [FINE.exec(first)?.[1], FINE.exec(second)?.[1]];
  if (a === undefined || b === undefined) return 0;
  // In the same millisecond.
  const digits = Math.min(a.length, b.length);
  const [c, d] = [a.slice(0, digits), b.slice(0, digits)];
  return c === d ? 0 : c < d ? -1 : 1;
}

function utc(year: number, month: number, day: number): number {
  // Makes no object. It maps years 0 to 99 to 1900 to 1999.
  if (year >= 100) return Date.UTC(year, month, day);
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.getTime();
}

/** In milliseconds east of UTC; undefined for a zone that does not exist. */
function zoneOffset(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 14 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
