import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import { rowCondition } from '../../sql/conditions.js';
import { TABLE_NAMES } from '../../sql/index-tables.js';
import type { IndexTable } from '../../sql/lookup.js';
import { lookupsByTable, matchesByParameter } from '../../sql/match-sql.js';
import { codeRows } from '../../sql/pages/code-scan.js';
import { type Condition, isOfOneTarget } from '../../sql/pages/condition.js';
import { neededPresence, neededPresences } from '../../sql/pages/presence.js';
import { isCurrent, ofParameter, parameterKey, type RowScope } from '../../sql/rows.js';
import { allOf, anyOf, Sql, sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import { isNotWhole, isWhole } from '../dialect.js';
import { shapesWithAll, shapeScan } from './shapes.js';
import { TUNING } from './tuning.js';

/**
 * Gives a condition a scan specific to PostgreSQL, if it is shorter or the only one:
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
    const direct = condition.direct === true;
    if (codes !== undefined) return new OwnScan(condition, criteria, codes, { direct, unique: isOfCode(criteria) });
    return new OwnScan(condition, criteria, condition.scan, { direct, unique: isOfOneTarget(criteria) });
  }
  const direct = updatedScan(criteria, scope) ?? missingScan(criteria, scope);
  if (direct !== undefined) return new OwnScan(condition, criteria, direct, { direct: true, unique: true });
  const sweep = sweepOf(criteria, scope);
  return sweep === undefined ? condition : new OwnScan(condition, criteria, sweep, { direct: false, unique: false });
}

class OwnScan implements Condition {
  readonly scan: Sql;
  readonly direct: boolean;
  readonly unique: boolean;
  readonly criteria: Criteria;
  readonly #condition: Condition;

  constructor(
    condition: Condition,
    criteria: Criteria,
    scan: Sql,
    { direct, unique }: { readonly direct: boolean; readonly unique: boolean },
  ) {
    this.#condition = condition;
    this.criteria = criteria;
    this.scan = scan;
    this.direct = direct;
    this.unique = unique;
  }

  get test(): Sql {
    return this.#condition.test;
  }
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

/** All values of the parameters. */
function sweepOf(criteria: Criteria, scope: RowScope): Sql | undefined {
  const matches = criteria.kind === 'or' ? criteria.of : [criteria];
  if (matches.length === 0 || !matches.every((one) => one.kind === 'match')) return undefined;
  const scans = [...matchesByParameter(matches)].map(([parameter, group]) => sweepOfParameter(parameter, group, scope));
  return scans.every((scan) => scan !== undefined) ? unionAll(scans) : undefined;
}

function sweepOfParameter(parameter: string, matches: readonly MatchCriteria[], scope: RowScope): Sql | undefined {
  const key = parameterKey(scope, parameter);
  // Components of composites are in no index by value, texts of tokens and references in none by parameter.
  if (key === undefined || parameter.includes('$') || matches.some(({ test }) => test.kind === 'text'))
    return undefined;
  const scans: Sql[] = [];
  for (const [table, lookups] of lookupsByTable(matches, scope)) {
    const indexes = INDEXES[table];
    if (indexes === undefined) return undefined;
    const passes = anyOf(lookups.map(({ condition }) => condition));
    for (const ofIndex of indexes) {
      const where = allOf([ofParameter(X, key, scope), sql`x.grp = 0`, passes, ofIndex]);
      scans.push(sql`SELECT x.resource FROM ${TABLE_NAMES[table]} x WHERE ${where}`);
    }
  }
  return scans.length === 0 ? undefined : unionAll(scans);
}

/** Conditions that say which of the indexes by value holds a row of a table. */
export function indexesOf(table: IndexTable): readonly Sql[] {
  return INDEXES[table] ?? [TRUE];
}

/** Which rows each index by parameter and value holds; see schema.ts. */
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

/** The scans that return their first rows at once, if there are any; all scans if many rows are read. */
export function scansFor(look: number, conditions: readonly Condition[]): readonly Condition[] {
  const scans = conditions.filter(({ scan }) => scan !== undefined);
  const direct = scans.filter((one) => one.direct === true);
  return direct.length === 0 || look >= TUNING.indirectFrom ? scans : direct;
}

/** All resources of the type: for conditions without a scan. */
export function allOfType(scope: RowScope): Condition {
  const { row } = scope;
  return { test: TRUE, scan: sql`SELECT ${row}.key FROM resource ${row} WHERE ${isCurrent(scope)}`, direct: true };
}
