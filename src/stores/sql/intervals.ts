import type { DateTest, NumberTest, QuantityTest } from '../../search/criteria/value-test.js';
import type { Lookup } from './lookup.js';
import { allOf, type Sql, sql, TRUE } from './sql.js';

// Intervals are indexed by their start. Short intervals end soon after they start, so a condition on the end becomes a
// range of the start; the few long ones have an index by their end. An interval never ends before it starts.

/**
 * The lookup of a date test on the stored interval `[low, high)` of `x`. See {@link DateTest} for the table of
 * prefixes.
 *
 * An interval of up to a day is short: instants, dates and most visits.
 */
export function dateLookup({ prefix, low, high }: DateTest, x: Sql): Lookup {
  const start = sql`${x}.low`;
  const end = sql`${x}.high`;
  const endingAfter = (bound: number, residual: Sql): readonly Sql[] => [
    allOf([sql`${start} > ${bound - DAY}`, sql`${end} > ${bound}`, sql`${end} - ${start} <= 86400000`, residual]),
    allOf([sql`${end} > ${bound}`, sql`${end} - ${start} > 86400000`, residual]),
  ];
  switch (prefix) {
    case 'eq':
      return ranged('date', allOf([sql`${start} >= ${low}`, sql`${start} < ${high}`, sql`${end} <= ${high}`]));
    case 'ne':
      return { table: 'date', condition: sql`(${start} < ${low} OR ${end} > ${high})` };
    case 'lt':
      return ranged('date', sql`${start} < ${low}`);
    case 'le':
      return ranged('date', sql`${start} < ${high} AND (${start} < ${low} OR ${end} <= ${high})`);
    case 'sa':
      return ranged('date', sql`${start} >= ${high}`);
    case 'eb':
      return ranged('date', sql`${start} < ${low} AND ${end} <= ${low}`);
    case 'gt':
      return { table: 'date', condition: sql`${end} > ${high}`, scans: endingAfter(high, TRUE) };
    case 'ge': {
      const condition = sql`(${end} > ${high} OR ${start} >= ${low})`;
      return { table: 'date', condition, scans: endingAfter(low, condition) };
    }
    case 'ap':
    case 'po': {
      const starting = sql`${start} < ${high}`;
      return {
        table: 'date',
        condition: sql`(${starting} AND ${end} > ${low})`,
        scans: endingAfter(low, starting),
      };
    }
  }
}

/**
 * The lookup of a number test on the stored closed interval `low … high` of `x`. See {@link NumberTest} for the table
 * of prefixes.
 *
 * Only a point is short: every value except Ranges and quantities with a comparator.
 *
 * @param unit the condition on the unit of a quantity
 */
export function numberLookup({ prefix, low, high }: NumberTest | QuantityTest, x: Sql, unit: Sql): Lookup {
  const start = sql`${x}.low`;
  const end = sql`${x}.high`;
  const withUnit = (condition: Sql): Lookup => ranged('quantity', allOf([condition, unit]));
  const either = (condition: Sql, point: Sql, interval: Sql): Lookup => ({
    table: 'quantity',
    condition: allOf([condition, unit]),
    scans: [allOf([point, sql`${end} = ${start}`, unit]), allOf([sql`${end} > ${start}`, interval, unit])],
  });
  switch (prefix) {
    case 'eq':
      return withUnit(equal(low, high, start, end));
    case 'ne':
      return { table: 'quantity', condition: allOf([sql`NOT (${equal(low, high, start, end)})`, unit]) };
    case 'lt':
      return withUnit(sql`${start} < ${low}`);
    case 'le':
      return withUnit(sql`${start} <= ${low}`);
    case 'sa':
      return withUnit(sql`${start} > ${high}`);
    case 'eb':
      return withUnit(sql`${start} < ${low} AND ${end} < ${low}`);
    case 'gt':
      return either(sql`${end} > ${high}`, sql`${start} > ${high}`, sql`${end} > ${high}`);
    case 'ge':
      return either(sql`${end} >= ${high}`, sql`${start} >= ${high}`, sql`${end} >= ${high}`);
    case 'ap':
    case 'po': {
      const overlap = sql`${start} <= ${high} AND ${end} >= ${low}`;
      return either(overlap, sql`${start} >= ${low} AND ${start} <= ${high}`, overlap);
    }
  }
}

/**
 * In milliseconds. Written as the literal 86400000 in the index of schema.ts and in the conditions here, so that the
 * planner matches them.
 */
export const DAY = 86_400_000;

function ranged(table: 'date' | 'quantity', condition: Sql): Lookup {
  return { table, condition, scans: [condition] };
}

function equal(low: number, high: number, start: Sql, end: Sql): Sql {
  if (low === high) return sql`${start} = ${low} AND ${end} = ${low}`;
  return sql`${start} >= ${low} AND ${start} < ${high} AND ${end} < ${high}`;
}
