import type { Criteria } from '../../../search/criteria/criteria.js';
import { tablesOf } from '../../sql/index-tables.js';
import { type Condition, isOfOneTarget } from '../../sql/pages/condition.js';
import { rangeOf } from '../../sql/pages/value-range.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, type Sql, sql, TRUE } from '../../sql/sql.js';
import { BLOCK, zoneOfIds, zoneOfInstants } from '../zones.js';

/** The number of a parameter in the table `zone`; undefined if the table has none of its values. */
export function zoneOf(parameter: string, scope: RowScope): number | undefined {
  const collection = scope.collection as number;
  if (parameter === '_id') return zoneOfIds(collection);
  if (parameter === '_lastUpdated') return zoneOfInstants(collection);
  if (parameter.includes('$')) return undefined;
  const [table, other] = tablesOf(scope.dialect.model, scope.type, parameter);
  const isZoned = other === undefined && (table === 'date' || table === 'quantity');
  return isZoned ? (parameterKey(scope, parameter) as number | undefined) : undefined;
}

/** Whether a block can have matches of all conditions, by one look into an index for each. @param block its number */
export function mayMatch(conditions: readonly Condition[], block: Sql, scope: RowScope): Sql {
  return allOf(conditions.map((one) => zoneTest(one, block, scope) ?? pointTest(one, block) ?? TRUE));
}

/** True if the values of the block reach into the range of the condition. */
function zoneTest({ criteria }: Condition, block: Sql, scope: RowScope): Sql | undefined {
  const parameter = criteria && parameterOf(criteria);
  if (criteria === undefined || parameter === undefined) return undefined;
  const zone = zoneOf(parameter, scope);
  const range = zone === undefined ? undefined : rangeOf(criteria, parameter);
  if (zone === undefined || range === undefined) return undefined;
  const { low, high, intervalsAfter } = range;
  const begins = low === undefined ? TRUE : sql`z.last >= ${low}`;
  // Long intervals may match by their end.
  const reaches =
    low === undefined || intervalsAfter === undefined ? begins : sql`(${begins} OR z.high >= ${intervalsAfter})`;
  const ends = high === undefined ? TRUE : sql`z.low <= ${high}`;
  return sql`EXISTS (SELECT 1 FROM zone z WHERE ${allOf([sql`z.parameter = ${zone} AND z.block = ${block}`, reaches, ends])})`;
}

/** The parameter of the criteria, if they use only one. */
function parameterOf(criteria: Criteria): string | undefined {
  if (criteria.kind === 'match') return criteria.parameter;
  if (criteria.kind === 'last-updated') return '_lastUpdated';
  if (criteria.kind !== 'or') return undefined;
  const [first, ...others] = criteria.of.map(parameterOf);
  return others.every((one) => one === first) ? first : undefined;
}

function pointTest(condition: Condition, block: Sql): Sql | undefined {
  if (!isOfPoints(condition)) return undefined;
  const from = sql`${block} * ${BLOCK.size}`;
  return sql`EXISTS (SELECT 1 FROM (${condition.scan!}) s WHERE s.resource BETWEEN ${from} AND ${from} + ${BLOCK.size - 1})`;
}

/** True for a scan of single codes or targets: an index has their rows in the order of their resources. */
export function isOfPoints({ criteria, scan }: Condition): boolean {
  if (criteria === undefined || scan === undefined) return false;
  return criteria.kind === 'or'
    ? criteria.of.length <= MAX_POINTS && criteria.of.every(isOfPoint)
    : isOfPoint(criteria);
}

/** The most alternatives that are looked up in a block one by one. */
const MAX_POINTS = 8;

function isOfPoint(criteria: Criteria): boolean {
  if (criteria.kind !== 'match' || criteria.parameter.includes('$')) return false;
  const { test } = criteria;
  switch (test.kind) {
    case 'token':
      return test.code !== undefined && test.negated !== true && test.below !== true;
    case 'reference':
      return isOfOneTarget(criteria);
    default:
      return false;
  }
}
