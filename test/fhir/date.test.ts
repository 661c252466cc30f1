import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BEGINNING_OF_TIME,
  compareDates,
  END_OF_TIME,
  isFinerThanMillisecond,
  parseDate,
} from '../../src/fhir/date.js';

const at = (text: string): number => new Date(text).getTime();

describe('parseDate reads as half-open intervals', () => {
  test.each([
    ['2021', '2021-01-01T00:00:00Z', '2022-01-01T00:00:00Z'],
    ['2021-02', '2021-02-01T00:00:00Z', '2021-03-01T00:00:00Z'],
    ['2021-12', '2021-12-01T00:00:00Z', '2022-01-01T00:00:00Z'],
    ['2021-02-28', '2021-02-28T00:00:00Z', '2021-03-01T00:00:00Z'],
    ['2020-02-29', '2020-02-29T00:00:00Z', '2020-03-01T00:00:00Z'],
    ['2000-02-29', '2000-02-29T00:00:00Z', '2000-03-01T00:00:00Z'],
    ['2021-12-31', '2021-12-31T00:00:00Z', '2022-01-01T00:00:00Z'],
    ['2021-05-06T07:08', '2021-05-06T07:08:00Z', '2021-05-06T07:09:00Z'],
    ['2021-05-06T07:08Z', '2021-05-06T07:08:00Z', '2021-05-06T07:09:00Z'],
    ['2021-05-06T07:08:09', '2021-05-06T07:08:09Z', '2021-05-06T07:08:10Z'],
    ['2021-05-06T07:08:09Z', '2021-05-06T07:08:09Z', '2021-05-06T07:08:10Z'],
    ['2021-05-06T07:08:09+02:00', '2021-05-06T05:08:09Z', '2021-05-06T05:08:10Z'],
    ['2021-05-06T07:08:09-05:30', '2021-05-06T12:38:09Z', '2021-05-06T12:38:10Z'],
    ['2021-01-01T00:30:00+14:00', '2020-12-31T10:30:00Z', '2020-12-31T10:30:01Z'],
    ['2021-05-06T07:08:09.1Z', '2021-05-06T07:08:09.100Z', '2021-05-06T07:08:09.200Z'],
    ['2021-05-06T07:08:09.12Z', '2021-05-06T07:08:09.120Z', '2021-05-06T07:08:09.130Z'],
    ['2021-05-06T07:08:09.123Z', '2021-05-06T07:08:09.123Z', '2021-05-06T07:08:09.124Z'],
    ['2021-05-06T07:08:09.123999999Z', '2021-05-06T07:08:09.123Z', '2021-05-06T07:08:09.124Z'],
    ['2021-05-06T23:59:59.999Z', '2021-05-06T23:59:59.999Z', '2021-05-07T00:00:00.000Z'],
    // A leap second counts as the first second of the next minute.
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00Z', '2017-01-01T00:00:01Z'],
    ['2016-12-31T23:59:60.5Z', '2017-01-01T00:00:00.500Z', '2017-01-01T00:00:00.600Z'],
  ])('%s', (text, low, high) => {
    expect(parseDate(text)).toEqual({ low: at(low), high: at(high) });
  });

  test('years below 100, which Date.UTC moves to the last century', () => {
    const year = parseDate('0001')!;
    expect(new Date(year.low).getUTCFullYear()).toBe(1);
    expect(new Date(year.high).getUTCFullYear()).toBe(2);
    expect(BEGINNING_OF_TIME).toBeLessThan(parseDate('0000')!.low);
    expect(END_OF_TIME).toBeGreaterThan(parseDate('9999')!.high);
  });
});

test.each([
  '',
  '21',
  '02021',
  '2021-',
  '2021-1',
  '2021-00',
  '2021-13',
  '2021-02-00',
  '2021-02-29',
  '1900-02-29',
  '2021-04-31',
  '2021-05-32',
  '2021-05-06T',
  '2021-05-06T07',
  '2021-05-06T24:00',
  '2021-05-06T07:60',
  '2021-05-06T07:08:61',
  '2021-05-06T07:08:09.',
  '2021-05-06T07:08:09+15:00',
  '2021-05-06T07:08:09+02:60',
  '2021-05-06T07:08:09+0200',
  '2021-05-06T07:08:09z',
  '2021-05-06 07:08:09',
  '2021Z',
  '2021-05-06Z',
  ' 2021',
  '2021\n',
  '-2021',
  '٢٠٢١',
])('%j is not a date', (text) => {
  expect(parseDate(text)).toBeUndefined();
});

test('an instant is read as Date reads it, in any zone', () => {
  const offset = fc
    .tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 14 }), fc.integer({ min: 0, max: 59 }))
    .map(([sign, hours, minutes]) => `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`);
  const date = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(date, fc.oneof(fc.constant('Z'), offset), (moment, zone) => {
      const text = `${moment.toISOString().slice(0, -1)}${zone}`;
      expect(parseDate(text)).toEqual({ low: at(text), high: at(text) + 1 });
    }),
  );
});

test('a less precise date contains all more precise dates of it', () => {
  const date = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(date, (moment) => {
      const text = moment.toISOString();
      const precisions = [4, 7, 10, 16, 19, 21, 22, 23].map((length) => parseDate(text.slice(0, length))!);
      for (const [index, narrow] of precisions.entries()) {
        if (index === 0) continue;
        const wide = precisions[index - 1]!;
        expect([wide.low <= narrow.low, narrow.high <= wide.high, narrow.low < narrow.high]).toEqual([
          true,
          true,
          true,
        ]);
      }
    }),
  );
});

test('days that a month does not have are not dates, in any century', () => {
  const pad = (value: number, length: number): string => String(value).padStart(length, '0');
  for (const year of [1, 4, 99, 100, 1900, 2000, 2023, 2024, 9999]) {
    for (let month = 1; month <= 12; month++) {
      const first = at(`${pad(year, 4)}-${pad(month, 2)}-01T00:00:00Z`);
      const next = month === 12 ? first + 31 * DAY : at(`${pad(year, 4)}-${pad(month + 1, 2)}-01T00:00:00Z`);
      for (let day = 0; day <= 99; day++) {
        const low = first + (day - 1) * DAY;
        const expected = low < first || low >= next ? undefined : { low, high: low + DAY };
        expect(parseDate(`${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`)).toEqual(expected);
      }
    }
  }
});

const DAY = 86_400_000;

test('a date finer than a millisecond denotes its millisecond, however many digits it has', () => {
  const text = '2021-05-06T07:08:09.1239999999999Z';
  expect(parseDate(text)).toEqual({ low: at('2021-05-06T07:08:09.123Z'), high: at('2021-05-06T07:08:09.124Z') });
  expect([text, '2021-05-06T07:08:09.123Z', '2021-05-06T07:08:09.1230+02:00'].map(isFinerThanMillisecond)).toEqual([
    true,
    false,
    true,
  ]);
});

test.each([
  ['2020-01-01', '2020-01-02', -1],
  ['2020-01', '2020-01-02', 0],
  ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.123457Z', -1],
  ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.123400Z', 1],
  ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.1234Z', 0],
  ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.123Z', 0],
  ['2020-01-01T00:00:00.123456Z', '2020-01-01T01:00:00.123456+01:00', 0],
  ['2020-01-01T00:00:00.123456Z', 'soon', undefined],
])('%s compared with %s is %s', (first, second, order) => {
  expect(compareDates(first, second)).toBe(order);
  expect(compareDates(second, first)).toBe(order && -order + 0);
});
