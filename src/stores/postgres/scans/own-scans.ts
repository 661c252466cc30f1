import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import type { IndexTable } from '../../sql/lookup.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import { type Condition, isLinked, isOfOneTarget } from '../../sql/pages/condition.js';
import { neededPresence, neededPresences } from '../../sql/pages/presence.js';
import { ScannedCondition } from '../../sql/pages/scanned-condition.js';
import { sweepOf } from '../../sql/pages/sweep.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, Sql, sql, type SqlValue, TRUE } from '../../sql/sql.js';
import { isNotWhole, isWhole } from '../rows/dialect.js';
import { shapesWithAll, shapeScan } from './shapes.js';
import { TUNING } from './tuning.js';

/**
 * Gives a condition a scan specific to PostgreSQL, if that is shorter or the only scan:
 *
 * - A code is found by one row per resource. It is indexed with and without its system.
 * - `_lastUpdated` is a range of the index by instant of change.
 * - A test that no range of an index answers (`contains`, `ne`) reads all values of its parameter from the index by value. A
 *   value there takes a hundredth of the time of a test under a resource's key.
 */
export function withOwnScan(condition: Condition, scope: RowScope): Condition {
  const { criteria } = condition;
  if (criteria === undefined) return condition;
  if (condition.scan !== undefined) {
    const codes = codeScan(criteria, scope);
    const unique = codes === undefined ? isOfOneTarget(criteria) : isOfCode(criteria);
    const direct = condition.direct === true;
    return new ScannedCondition(condition, criteria, { scan: codes ?? condition.scan, direct, unique });
  }
  const range = updatedScan(criteria, scope) ?? missingScan(criteria, scope);
  if (range !== undefined)
    return new ScannedCondition(condition, criteria, { scan: range, direct: true, unique: true });
  const sweep = sweepOf(criteria, scope, (table, where) =>
    INDEXES[table]?.map(
      (ofIndex) => sql`SELECT x.resource FROM ${TABLE_NAMES[table]} x WHERE ${allOf([where, ofIndex])}`,
    ),
  );
  return sweep === undefined
    ? condition
    : new ScannedCondition(condition, criteria, { scan: sweep.scan, direct: false });
}

const X = sql`x`;

function codeScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  const rows = codeRows(criteria, scope, isOfCode);
  return rows && firstOfCodes(rows.codes, rows.key, scope);
}

/** One row of each resource and code. See extremes.ts for the bits. */
export function firstOfCodes(codes: Sql, key: SqlValue, scope: RowScope): Sql {
  return sql`SELECT x.resource FROM token x WHERE ${allOf([ofParameter(X, key, scope), sql`x.grp = 0`, codes, sql`x.extreme < 8`])}`;
}

/** A test by a code alone, whatever its system. */
export function isOfCode(criteria: Criteria): criteria is MatchCriteria {
  if (criteria.kind !== 'match' || criteria.test.kind !== 'token') return false;
  const { code, folded, system, noSystem, negated, below } = criteria.test;
  if (code === undefined || (folded !== undefined && folded !== code)) return false;
  return system === undefined && noSystem !== true && negated !== true && below !== true;
}

function updatedScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  if (criteria.kind !== 'last-updated') return undefined;
  const row = new Sql('y', []);
  const ofRow = { ...scope, row };
  return sql`SELECT y.key FROM resource y WHERE ${allOf([isCurrent(ofRow), rowCondition(criteria, ofRow)])}`;
}

function missingScan(criteria: Criteria, scope: RowScope): Sql | undefined {
  const presence = criteria.kind === 'missing' || criteria.kind === 'not' ? neededPresence(criteria) : undefined;
  const key = presence && parameterKey(scope, presence.parameter);
  if (presence === undefined || key === undefined) return undefined;
  return shapeScan(scope.project, scope.collection!, key, presence.present ? 'some' : 'none');
}

/** The condition of the rows that each index by value of a table holds. */
export function indexesOf(table: IndexTable): readonly Sql[] {
  return INDEXES[table] ?? [TRUE];
}

/** Which rows each index by parameter and value holds; see schema.ts. References have none by parameter. */
const INDEXES: { readonly [Table in IndexTable]?: readonly Sql[] } = {
  token: [isWhole(sql`x.code`), isNotWhole(sql`x.code`)],
  string: [isWhole(sql`x.folded`), isNotWhole(sql`x.folded`)],
  date: [TRUE],
  quantity: [TRUE],
  uri: [TRUE],
};

/** The resources of the shapes with all these parameters: none if the conditions exclude each other by their parameters. */
export function presenceScan(conditions: readonly Condition[], scope: RowScope): Condition | undefined {
  const needed = neededPresences(conditions, scope);
  const scan = needed && shapesWithAll(scope.project, scope.collection!, needed);
  return scan && { scan, test: TRUE, direct: true, unique: true };
}

/** The scans of index ranges and of other ends, if there are any; all scans if many rows are read. */
export function scansFor(look: number, conditions: readonly Condition[]): readonly Condition[] {
  const scans = conditions.filter(({ scan }) => scan !== undefined);
  const quick = scans.filter((one) => one.direct === true || isLinked(one));
  return quick.length === 0 || look >= TUNING.indirectFrom ? scans : quick;
}

/** All resources of the type: for conditions without a scan. */
export function allOfType(scope: RowScope): Condition {
  const { row } = scope;
  return { test: TRUE, scan: sql`SELECT ${row}.key FROM resource ${row} WHERE ${isCurrent(scope)}`, direct: true };
}
