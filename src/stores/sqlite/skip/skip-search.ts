import type { Criteria, MatchCriteria } from '../../../search/criteria/criteria.js';
import type { Condition } from '../../sql/pages/condition.js';
import { isBefore, rangeOf, type ValueRange } from '../../sql/pages/value-range.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { sql, type SqlValue } from '../../sql/sql.js';
import type { OrderIndex } from '../pages/order-index.js';
import type { Statements } from '../statements.js';
import { zoneOfInstants } from '../zones.js';
import { addGranule, emptySet, type GranuleSet, granulesWhere, hasGranule, intersection, union } from './granules.js';
import { type Holding, PRESENCE, RANGES, type Ranges, readHolding, SKIP_TUNING, type SkipOrder } from './skip-row.js';

/** A part of an order, without the value at its end. Undefined: no bound. */
export interface ValueSpan {
  readonly low: SqlValue | undefined;
  readonly high: SqlValue | undefined;
}

/** Where the matches of conditions can be in an order. */
export interface Candidates {
  readonly order: SkipOrder;
  readonly granules: GranuleSet;
  /** What was written since the skip index was made: it may match, and stands anywhere. */
  readonly pending: readonly number[];
}

/** Undefined where the file has no valid skip index of the order, too much was written since, or it cannot help. */
export function candidatesOf(
  number: number,
  conditions: readonly Condition[],
  scope: RowScope,
  statements: Statements,
  noteStale: (collection: number) => void,
): Candidates | undefined {
  const collection = scope.collection as number;
  const order = readOrder(number, statements);
  if (order === undefined) {
    noteStale(collection);
    return undefined;
  }
  const pending = writtenSince(order, collection, statements);
  if (pending.length > SKIP_TUNING.maxFresh) noteStale(collection);
  if (pending.length > SKIP_TUNING.maxPending) return undefined;
  const granules = new SkipSearch(number, order, scope, statements).granules(conditions);
  return granules && { order, granules, pending };
}

/** The parts of an order that can have matches, in ascending order; undefined: all of it. */
export function spansOf(
  index: OrderIndex,
  conditions: readonly Condition[],
  scope: RowScope,
  statements: Statements,
  noteStale: (collection: number) => void,
): readonly ValueSpan[] | undefined {
  if (index.skip === undefined || conditions.length === 0) return undefined;
  const candidates = candidatesOf(index.skip, conditions, scope, statements, noteStale);
  if (candidates === undefined) return undefined;
  const { order, granules, pending } = candidates;
  for (const value of sortValues(pending, index, statements)) addGranule(granules, granuleOf(order.starts, value));
  return spansIn(granules, order.starts);
}

/** @returns undefined where the file has no valid skip index of the order */
export function readOrder(number: number, statements: Statements): SkipOrder | undefined {
  const [text, epoch] = (statements.read(READ_ORDER).get(number) ?? []) as [string?, (string | null)?];
  if (text === undefined) return undefined;
  const order = JSON.parse(text) as SkipOrder;
  return order.epoch === epoch ? order : undefined;
}

const READ_ORDER = `SELECT data, (SELECT value FROM meta WHERE name = 'index_epoch') FROM skip
  WHERE sort = ? AND subject = 0 AND value = 0`;

/** The keys of what was written since, up to one more than may be pending. */
export function writtenSince(
  { lastVersion }: SkipOrder,
  collection: number,
  statements: Statements,
): readonly number[] {
  const limit = SKIP_TUNING.maxPending + 1;
  return statements
    .read(WRITTEN_SINCE)
    .all(lastVersion, collection, limit)
    .map((row) => (row as [number])[0]);
}

const WRITTEN_SINCE = `SELECT v.resource FROM version v CROSS JOIN resource r ON r.key = v.resource
  WHERE v.key > ? AND r.collection = ? AND r.content IS NOT NULL LIMIT ?`;

function sortValues(keys: readonly number[], { valueOf }: OrderIndex, statements: Statements): readonly SqlValue[] {
  if (keys.length === 0) return [];
  const rows = statements.all(sql`SELECT DISTINCT ${valueOf}
    FROM json_each(${JSON.stringify(keys)}) j CROSS JOIN resource r0 ON r0.key = j.value`);
  return rows.map(([value]) => value!).filter((value) => value !== null);
}

/** The granule that a value belongs to. */
export function granuleOf(starts: readonly SqlValue[], value: SqlValue): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isBefore(value, starts[middle]!)) high = middle - 1;
    else low = middle;
  }
  return low;
}

/** Neighbours are one span. */
export function spansIn(granules: GranuleSet, starts: readonly SqlValue[]): readonly ValueSpan[] {
  const spans: ValueSpan[] = [];
  for (let granule = 0; granule < starts.length; granule++) {
    if (!hasGranule(granules, granule)) continue;
    const high = starts[granule + 1];
    const isNext = granule > 0 && hasGranule(granules, granule - 1);
    if (isNext) spans.push({ low: spans.pop()!.low, high });
    else spans.push({ low: granule === 0 ? undefined : starts[granule]!, high });
  }
  return spans;
}

class SkipSearch {
  readonly #number: number;
  readonly #count: number;
  readonly #scope: RowScope;
  readonly #statements: Statements;

  constructor(number: number, { starts }: SkipOrder, scope: RowScope, statements: Statements) {
    this.#number = number;
    this.#count = starts.length + 1;
    this.#scope = scope;
    this.#statements = statements;
  }

  /** Undefined: all. */
  granules(conditions: readonly Condition[]): GranuleSet | undefined {
    const sets = conditions.flatMap(({ criteria, shared }) => [
      ...present(criteria && this.#matching(criteria)),
      ...present(shared && this.#holding(shared.parameter, shared.value)?.some),
    ]);
    // A copy, which may be added to.
    return sets.length === 0 ? undefined : sets.reduce(intersection, sets[0]!.slice());
  }

  /** The granules with a resource that may match. */
  #matching(criteria: Criteria): GranuleSet | undefined {
    switch (criteria.kind) {
      case 'none':
        return emptySet(this.#count);
      case 'and':
        return any(
          criteria.of.map((one) => this.#matching(one)),
          intersection,
        );
      case 'or':
        return every(
          criteria.of.map((one) => this.#matching(one)),
          union,
        );
      case 'not':
        return this.#failing(criteria.of);
      case 'match':
        return this.#matchingValue(criteria);
      case 'missing':
        return this.#presence(criteria.parameter)?.[criteria.missing ? 'lacking' : 'some'];
      case 'last-updated':
        return this.#reaching(zoneOfInstants(this.#scope.collection as number), rangeOf(criteria, '_lastUpdated'));
      default:
        return undefined;
    }
  }

  /** The granules with a resource that may not match. */
  #failing(criteria: Criteria): GranuleSet | undefined {
    switch (criteria.kind) {
      case 'and':
        return every(
          criteria.of.map((one) => this.#failing(one)),
          union,
        );
      case 'or':
        return any(
          criteria.of.map((one) => this.#failing(one)),
          intersection,
        );
      case 'not':
        return this.#matching(criteria.of);
      case 'missing':
        return this.#presence(criteria.parameter)?.[criteria.missing ? 'some' : 'lacking'];
      case 'match': {
        const { test } = criteria;
        // A code with a system may be lacking where the code alone is not.
        if (test.kind === 'token' && (test.system !== undefined || test.noSystem === true)) return undefined;
        const holdings = this.#holdings(criteria);
        return (
          holdings &&
          any(
            holdings.map((one) => one?.lacking),
            intersection,
          )
        );
      }
      default:
        return undefined;
    }
  }

  #matchingValue(criteria: MatchCriteria): GranuleSet | undefined {
    const { parameter, test } = criteria;
    if (test.kind === 'text' || parameter.includes('$')) return undefined;
    const holdings = this.#holdings(criteria);
    const exact =
      holdings &&
      every(
        holdings.map((one) => one?.some),
        union,
      );
    if (exact !== undefined) return exact;
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    const range = test.kind === 'date' || test.kind === 'number' || test.kind === 'quantity';
    const reaching = range && key !== undefined ? this.#reaching(key, rangeOf(criteria, parameter)) : undefined;
    return reaching ?? this.#presence(parameter)?.some;
  }

  /** What is known of the codes or the target that a test asks for. */
  #holdings({ parameter, test }: MatchCriteria): readonly (Holding | undefined)[] | undefined {
    const key = parameter.includes('$') ? undefined : (parameterKey(this.#scope, parameter) as number | undefined);
    if (key === undefined) return undefined;
    if (test.kind === 'token') {
      const { code, folded, negated, below } = test;
      if (code === undefined || negated === true || below === true) return undefined;
      const codes = folded === undefined || folded === code ? [code] : [code, folded];
      return codes.map((one) => this.#holding(key, one));
    }
    if (test.kind !== 'reference' || this.#scope.baseUrl !== undefined) return undefined;
    const { id, types, url, negated } = test;
    if (id === undefined || types?.length !== 1 || url !== undefined || negated === true) return undefined;
    const [target] = (this.#statements.read(FIND_TARGET).get(this.#scope.project, types[0]!, id) ?? []) as [number?];
    return target === undefined ? undefined : [this.#holding(key, target)];
  }

  #presence(parameter: string): Holding | undefined {
    if (parameter.includes('$')) return undefined;
    const key = parameterKey(this.#scope, parameter) as number | undefined;
    // What has no row had no value in any resource.
    const none: Holding = { some: emptySet(this.#count), lacking: granulesWhere(this.#count, () => true) };
    return key === undefined ? none : (this.#holding(key, PRESENCE) ?? none);
  }

  #holding(subject: number, value: string | number): Holding | undefined {
    const text = this.#read(subject, value);
    return text === undefined ? undefined : readHolding(text, this.#count);
  }

  /** The granules with values in a range. */
  #reaching(subject: number, range: ValueRange | undefined): GranuleSet | undefined {
    const text = range && this.#read(subject, RANGES);
    if (range === undefined || text === undefined) return undefined;
    const [lows, lasts, highs] = JSON.parse(text) as Ranges;
    const { low, high, intervalsAfter } = range as { low?: number; high?: number; intervalsAfter?: number };
    return granulesWhere(this.#count, (granule) => {
      const smallest = lows[granule]!;
      if (smallest === null || (high !== undefined && smallest > high)) return false;
      if (low === undefined || lasts[granule]! >= low) return true;
      // Long intervals may match by their end.
      return intervalsAfter !== undefined && highs[granule]! >= intervalsAfter;
    });
  }

  #read(subject: number, value: string | number): string | undefined {
    return (this.#statements.read(READ).get(this.#number, subject, value) as [string] | undefined)?.[0];
  }
}

const READ = 'SELECT data FROM skip WHERE sort = ? AND subject = ? AND value = ?';
const FIND_TARGET = `SELECT r.key FROM collection c CROSS JOIN resource r ON r.collection = c.key
  WHERE c.project = ? AND c.type = ? AND r.id = ?`;

function present(set: GranuleSet | undefined): readonly GranuleSet[] {
  return set === undefined ? [] : [set];
}

type Sets = readonly (GranuleSet | undefined)[];
type Join = (a: GranuleSet, b: GranuleSet) => GranuleSet;

/** Of what is known; undefined where nothing is. */
function any(sets: Sets, join: Join): GranuleSet | undefined {
  const known = sets.flatMap(present);
  return known.length === 0 ? undefined : known.reduce(join);
}

/** Undefined where one is not known. */
function every(sets: Sets, join: Join): GranuleSet | undefined {
  const known = sets.flatMap(present);
  return known.length < sets.length || known.length === 0 ? undefined : known.reduce(join);
}
