import type { Criteria } from '../../search/criteria/criteria.js';
import { type Condition, isOfOneTarget } from '../sql/pages/condition.js';
import { inTime, isCurrent, ofParameter, parameterKey, type RowScope } from '../sql/rows.js';
import { allOf, FALSE, negation, type Sql, sql, TRUE, unionAll } from '../sql/sql.js';
import { countStatement, type Repeats } from './count.js';
import { isOfCode, presenceScan } from './pages/own-scans.js';
import type { Probes } from './pages/probe.js';
import { looksAtRow } from './pages/stretch.js';
import { countOfCollection, countOfShapes, shapeScan } from './shapes.js';

/**
 * Counts the resources that meet several conditions.
 *
 * - **from a scan**: tests the matches of one condition for the others. Of two scans of similar length it takes the one in the
 *   order of the keys, so that the tests read their tables from front to back. Two long scans in that order are merged.
 * - **by other codes**: if nearly all resources have one code, counts those with another.
 * - **without the others**: if nearly all resources meet one condition, counts the matches of the rest, minus the few of them
 *   that fail that one.
 */
export class ConjunctionCount {
  readonly #scope: RowScope;
  readonly #probes: Probes;
  readonly #repeats: Repeats;

  constructor(scope: RowScope, probes: Probes, repeats: Repeats) {
    this.#scope = scope;
    this.#probes = probes;
    this.#repeats = repeats;
  }

  statement(conditions: readonly Condition[]): Sql {
    const [first, ...others] = conditions;
    if (first === undefined) return countOfCollection(this.#scope.collection as number);
    if (first.criteria !== undefined && others.length === 0) {
      const short = this.#byOtherCodes(first.criteria) ?? countStatement(first.criteria, this.#scope, this.#repeats);
      if (short !== undefined) return short;
    }
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    const opposites = others.length === 0 ? [] : conditions.map((one) => this.#opposite(one));
    const presence = others.length === 0 ? undefined : presenceScan(conditions, this.#scope);
    if (presence !== undefined && this.#probes.hasAtMost(MAX_TOGETHER, presence))
      return this.#from(presence, conditions);
    const shortest =
      scans.length + opposites.length < 2 ? scans[0] : this.#shortest(scans, opposites.filter(isPresent));
    const unmet = shortest === undefined ? -1 : opposites.indexOf(shortest);
    if (unmet >= 0) {
      const rest = conditions.toSpliced(unmet, 1);
      return sql`SELECT (${this.statement(rest)}) - (${this.#from(shortest, rest)})`;
    }
    const start = this.#inKeyOrder(shortest, scans);
    const partner = start && this.#partnerOf(start, scans);
    const left = conditions.filter((one) => one !== start && one !== partner);
    return partner === undefined ? this.#from(start, left) : this.#fromBoth(start!, partner, left);
  }

  /** Looks into all scans, further and further until one of them ends. */
  #shortest(scans: readonly Condition[], opposites: readonly Condition[]): Condition | undefined {
    for (const look of LOOKS) {
      const worth = scans.filter(({ direct, reads }) => direct === true || (reads ?? 0) <= look);
      const shortest = this.#probes.shortestUnder(look, [...opposites, ...worth]);
      if (shortest !== undefined) return shortest.condition;
    }
    return scans[0];
  }

  /** A scan in the order of the keys, if it is not much longer than the shortest. */
  #inKeyOrder(shortest: Condition | undefined, scans: readonly Condition[]): Condition | undefined {
    const rows = shortest && this.#probes.rowsOf(shortest);
    if (rows === undefined) return shortest;
    return this.#probes.shortestUnder(rows * ORDER_GAIN + 1, scans.filter(isInKeyOrder))?.condition ?? shortest;
  }

  /** Another scan in the order of the keys that is not much longer, if both are long. */
  #partnerOf(start: Condition, scans: readonly Condition[]): Condition | undefined {
    const rows = this.#probes.rowsOf(start);
    if (rows === undefined || rows < COUNTING.minMerged || !isInKeyOrder(start)) return undefined;
    const others = scans.filter((one) => one !== start && isInKeyOrder(one));
    return this.#probes.shortestUnder(rows * MERGE_GAIN, others)?.condition;
  }

  /** PERF: a merge of two scans takes a fifth of the time of a test of each row of one. */
  #fromBoth(start: Condition, partner: Condition, others: readonly Condition[]): Sql {
    const both = sql`SELECT * FROM (${start.scan!} INTERSECT ${partner.scan!} ORDER BY 1)`;
    const tests = others.map(({ test }) => test);
    if (tests.length === 0) return sql`SELECT count(*) FROM (${both})`;
    const where = allOf(tests);
    if (where === FALSE) return sql`SELECT 0`;
    const row = looksAtRow(where) ? sql`s CROSS JOIN resource r0 ON r0.key = s.key` : sql`s AS r0`;
    return sql`WITH s (key) AS (${both}) SELECT count(*) FROM ${row} WHERE ${where}`;
  }

  #from(start: Condition | undefined, others: readonly Condition[]): Sql {
    const tests = others.map(({ test }) => test);
    if (start === undefined) {
      return sql`SELECT count(*) FROM resource r0 WHERE ${allOf([isCurrent(this.#scope), inTime(sql`r0.key`, this.#scope), ...tests])}`;
    }
    const where = allOf([inTime(sql`r0.key`, this.#scope), ...tests]);
    // SQLite drops the tests of a scan together with a FALSE, and then cannot use its partial index.
    if (where === FALSE) return sql`SELECT 0`;
    const row = looksAtRow(where) ? sql`s CROSS JOIN resource r0 ON r0.key = s.key` : sql`s AS r0`;
    // SQLite leaves the DISTINCT to the index where that has the rows of a resource next to each other.
    return sql`WITH s (key) AS (${start.scan!}) SELECT count(*) FROM (SELECT DISTINCT r0.key FROM ${row} WHERE ${where})`;
  }

  /** The number of resources with or without a code that nearly all have (a status), from the few that have another one. */
  #byOtherCodes(criteria: Criteria): Sql | undefined {
    const inner = criteria.kind === 'not' ? criteria.of : criteria;
    const others = this.#otherCodes(inner);
    if (others === undefined) return undefined;
    const { key, own, parts } = others;
    const isShort = (scan: Sql, rows: number): boolean => this.#probes.hasAtMost(rows, { scan, test: TRUE });
    if (isShort(own, COUNTING.minShared) || !isShort(unionAll(parts), COUNTING.maxOthers)) return undefined;
    const collection = this.#scope.collection as number;
    // Of one code there is one row per resource; tokens without a code have no mark.
    const [below, above, codeless] = parts as readonly [Sql, Sql, Sql];
    const counts = [below, above, sql`SELECT DISTINCT * FROM (${codeless})`].map(
      (part) => sql`(SELECT count(*) FROM (${part}))`,
    );
    const without = counts.reduce((all, one) => sql`${all} + ${one}`, sql`(${countOfShapes(collection, key, 'none')})`);
    return criteria.kind === 'not'
      ? sql`SELECT ${without}`
      : sql`SELECT (${countOfCollection(collection)}) - (${without})`;
  }

  /** Selects resources without a code, if no resource has several codes; undefined for other conditions. */
  #opposite({ criteria, test }: Condition): Condition | undefined {
    const others = criteria && this.#otherCodes(criteria);
    if (others === undefined) return undefined;
    const none = shapeScan(this.#scope.collection as number, others.key, 'none');
    return { scan: unionAll([...others.parts, none]), test: negation(test), direct: true };
  }

  /** The rows of a code and of all other codes, if no resource has several. */
  #otherCodes(criteria: Criteria): OtherCodes | undefined {
    if (!isOfCode(criteria) || criteria.parameter.includes('$')) return undefined;
    const { code, folded } = criteria.test as { readonly code: string; readonly folded?: string };
    const key = parameterKey(this.#scope, criteria.parameter) as number | undefined;
    if (key === undefined || folded !== undefined || this.#repeats(criteria.parameter)) return undefined;
    const rows = (which: Sql): Sql => sql`SELECT x.resource FROM token x INDEXED BY token_by_value
      WHERE ${allOf([ofParameter(X, key, this.#scope), sql`x.grp = 0`, which, inTime(sql`x.resource`, this.#scope)])}`;
    return {
      key,
      own: rows(sql`x.code = ${code} AND x.extreme & 5 <> 0`),
      parts: [
        rows(sql`x.code < ${code} AND x.extreme & 5 <> 0`),
        rows(sql`x.code > ${code} AND x.extreme & 5 <> 0`),
        rows(sql`x.code IS NULL`),
      ],
    };
  }
}

interface OtherCodes {
  /** Of the parameter. */
  readonly key: number;
  readonly own: Sql;
  readonly parts: readonly Sql[];
}

/** When a code is counted by the others. Only tests change it. */
export const COUNTING = {
  /** The number of rows of a code from which looking at the others pays. */
  minShared: 40_000,
  /** Rows of a scan from which it is merged with another one. */
  minMerged: 20_000,
  /** How many others are counted instead. */
  maxOthers: 160_000,
};

/**
 * How many resources with values of all parameters are tested without a look at other scans: none where conditions exclude
 * each other. A scan of one condition may be shorter, so they are few.
 */
const MAX_TOGETHER = 100;

/** How far scans are looked into, in rows. */
const LOOKS: readonly number[] = [10_000, 40_000, 160_000, 640_000, Number.MAX_SAFE_INTEGER];

function isPresent<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}

/** How many times as long the other scan of a merge may be. */
const MERGE_GAIN = 4;

/** How many times as long a scan in the order of the keys may be. */
const ORDER_GAIN = 2;

const X = sql`x`;

/** The scan is of one value: an index has its rows in the order of their resources. */
function isInKeyOrder({ criteria }: Condition): boolean {
  return criteria !== undefined && (isOfOneCode(criteria) || isOfOneTarget(criteria));
}

function isOfOneCode(criteria: Criteria): boolean {
  return isOfCode(criteria) && criteria.test.kind === 'token' && criteria.test.folded === undefined;
}
