/** Minutes, hours and days in milliseconds. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const YEAR = 365.25 * DAY;

/** "Now" of all sample data: fixed, so that the data never change. */
export const SAMPLE_NOW = Date.UTC(2025, 5, 2, 13);

/** The day of a time: `2025-06-02`. */
export function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** A time as a clock five hours behind UTC shows it: `2025-06-02T08:00:00-05:00`. */
export function clock(time: number): string {
  return `${new Date(time - 5 * HOUR).toISOString().slice(0, 19)}-05:00`;
}

/** An instant in UTC. */
export function instant(time: number): string {
  return new Date(time).toISOString();
}

/** Days from now (negative: before), at a quarter of an hour of the working day. */
export function workingTime(days: number, quarter: number): number {
  const midnight = SAMPLE_NOW - (SAMPLE_NOW % DAY);
  return midnight + days * DAY + 13 * HOUR + quarter * 15 * MINUTE;
}
