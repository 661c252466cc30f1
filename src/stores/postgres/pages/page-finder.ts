import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import { type Condition, testsOf } from '../../sql/pages/condition.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { RowScope } from '../../sql/rows.js';
import { FALSE, type Sql, sql, type SqlValue } from '../../sql/sql.js';
import type { Run } from '../run.js';
import { openConditionSets } from '../skip/open-condition-sets.js';
import { referenceKeyOf } from '../skip/reference-order.js';
import type { SkipSource } from '../skip/skip-state.js';
import { prepared } from '../statements.js';
import { collection } from './collection.js';
import { areFar, areReferred, areSparse, haveLongSets, lackScans } from './far.js';
import { DecidingKeys } from './deciding-keys.js';
import { type OrderIndex, orderIndexOf } from './order-index.js';
import { Outlook } from './outlook.js';
import { allOfType, scansFor } from './own-scans.js';
import { type Asked, isDeep } from './page-statement.js';
import { append, type Finding, type FoundText, foundTexts, RangeWalk, stretchOf } from './range-walk.js';
import { scansWithin } from './scans-within.js';
import { type Skipping, SkipWalker } from './skip-walk.js';
import { walked } from './stretch.js';
import { TUNING } from './tuning.js';
import type { Bounds } from '../../sql/pages/walk-bounds.js';
import { boundsOf } from './walk-bounds.js';

/**
 * Finds one page of a search.
 *
 * There are three ways, and which one is short depends on the data:
 *
 * - **collect**: read the matches of the narrowest condition, test the rest, sort. The cost is the number of these matches.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. It costs the rows
 *   up to there. Where many rows have the same value, they are a page of their own, in the order of the next key; the ids
 *   are the last key.
 * - **skip**: intersect the sets of resources that can meet the conditions, and read the order's granules for what is left; see
 *   skip-walk.ts. It costs the page where the sets are exact, and takes the place of the walk.
 *
 * The store does not guess: it tries two ways in turn, each with ten times as many rows as before, until one ends. Each try is one statement,
 * which reads a bounded number of rows. See stores/sqlite/pages for the same over SQLite, where a statement costs nothing.
 */
export class PageFinder {
  readonly #order: PageOrder;
  readonly #keys: DecidingKeys;
  readonly #outlook: Outlook;
  readonly #holds: Sql;
  readonly #offset: number;
  readonly #range: RangeWalk;
  readonly #skips: SkipSource | undefined;
  #skipWalker: Promise<SkipWalker | undefined> | undefined;

  /**
   * @param backwards the page is found from its end
   * @param holds ends a statement where the index has changed
   * @param offset the first matches that are not shown: they have empty texts
   * @param skips undefined: without skip indexes
   */
  constructor(
    scope: RowScope,
    sort: readonly SortKey[],
    backwards: boolean,
    holds: Sql,
    offset: number,
    skips?: SkipSource,
  ) {
    this.#holds = holds;
    this.#offset = offset;
    this.#skips = skips;
    this.#range = new RangeWalk({
      group: (...group) => this.#group(...group),
      outside: (...outside) => this.#outside(...outside),
    });
    this.#keys = new DecidingKeys(sort, scope);
    this.#order = { scope, keys: this.#keys.keys, backwards };
    this.#outlook = new Outlook(scope, skips);
  }

  /** The page among the matches of the narrowest condition, by one statement. Undefined if they are many, or it may take long. */
  async few(
    conditions: readonly Condition[],
    need: number,
    position: SearchPosition | undefined,
    run: Run,
  ): Promise<readonly FoundText[] | undefined> {
    if (this.#keys.isAfterAll(position)) return this.#order.backwards ? [] : this.few(conditions, need, undefined, run);
    if (conditions.some(({ test }) => test === FALSE)) return [];
    const [look] = TUNING.looks as readonly [number];
    if (look === Infinity || this.#skipsFirst(conditions)) return undefined;
    return this.#few(this.#asked(need, position), conditions, look, run);
  }

  #skipsFirst(conditions: readonly Condition[]): boolean {
    return this.#skips !== undefined && (areSparse(conditions) || lackScans(conditions, this.#order.scope));
  }

  /** The first matches after a position, or (backwards) the last before it, from there on. @param run in one snapshot */
  async find(
    conditions: readonly Condition[],
    need: number,
    position: SearchPosition | undefined,
    run: Run,
  ): Promise<readonly FoundText[]> {
    if (this.#keys.isAfterAll(position))
      return this.#order.backwards ? [] : this.find(conditions, need, undefined, run);
    const finding = this.#find(this.#asked(need, position), conditions, run, !this.#skipsFirst(conditions));
    for (;;) {
      const step = await finding.next();
      if (step.done === true) return step.value;
    }
  }

  /** The statements of both ways: one that collects, and one stretch of a walk. For people. */
  statements(conditions: readonly Condition[], need: number, position: SearchPosition | undefined): readonly Sql[] {
    const asked = this.#asked(need, position);
    const [look] = TUNING.looks as readonly [number];
    const collected = this.#collected(asked, conditions, scansFor(look, conditions), look);
    const index = this.#indexOf(asked);
    if (index === undefined) return [collected];
    const stretch = stretchOf(asked, index, { valued: true });
    return [collected, walked(asked, index, stretch, testsOf(conditions), TUNING.stretch)];
  }

  #asked(need: number, position: SearchPosition | undefined): Asked {
    const place = position && this.#keys.placeOf(position);
    return { order: this.#order, level: 0, need, shown: need - this.#offset, place, holds: this.#holds };
  }

  #indexOf({ order, level, need }: Asked): OrderIndex | undefined {
    return need === Infinity ? undefined : orderIndexOf(order.keys[level]!, order.scope);
  }

  /** Undefined where no index has all values in the order. */
  async #wholeIndex(asked: Asked, run: Run): Promise<OrderIndex | undefined> {
    const index = this.#indexOf(asked);
    if (index === undefined || index.lacks === FALSE) return index;
    const [row] = await run(sql`SELECT CASE WHEN ${index.lacks} THEN 1 ELSE 0 END`);
    return row![0] === 1 ? undefined : index;
  }

  /** @param knownLong no scan is as short as the first look */
  async *#find(asked: Asked, conditions: readonly Condition[], run: Run, knownLong = false): Finding {
    if (asked.need <= 0 || conditions.some(({ test }) => test === FALSE)) return [];
    const index = await this.#wholeIndex(asked, run);
    const ordered = index && this.#walk(asked, index, conditions, run);
    const isLate = isDeep(asked);
    // PERF: without conditions a walk leaves nothing out.
    if (ordered !== undefined && conditions.length === 0 && !isLate) return yield* ordered;
    // PERF: a page that the first rows fill needs no sets.
    const isLong = this.#skips !== undefined && haveLongSets(conditions) && !areSparse(conditions);
    const isFirst = isLong && !isLate && this.#outlook.isFilled(asked, conditions);
    const before = isFirst ? TUNING.walkedFirst : 0;
    for (let rows = 0; ordered !== undefined && rows < before;) {
      const step = await ordered.next();
      if (step.done === true) return step.value;
      rows += step.value;
      yield step.value;
    }
    const skipping = await this.#skipping(asked, index, conditions, run);
    if (ordered !== undefined && conditions.length === 0) return yield* skipping?.finding ?? ordered;
    // PERF: of a value that most resources have, a granule has many more than a page.
    const isBroad = skipping !== undefined && skipping.share >= TUNING.mostShare;
    const isTested = !(skipping?.exact === true && areReferred(conditions));
    const isUntried = ordered !== undefined && !isFirst && !isLate;
    if (isUntried && isBroad && isTested && this.#outlook.isFilled(asked, conditions, skipping.share)) {
      const step = await ordered.next();
      if (step.done === true) return step.value;
      yield step.value;
    }
    // To test the members of sets takes no longer than to find them in another way.
    if (skipping !== undefined && (skipping.exact || areSparse(conditions))) return yield* skipping.finding;
    const walk = skipping?.finding ?? ordered;
    const isWalked = walk !== undefined && this.#skips !== undefined && lackScans(conditions, asked.order.scope);
    const firstLook = isWalked ? TUNING.indirectFrom : knownLong ? TUNING.looks[0]! + 1 : 0;
    let walkedRows = 0;
    for (const look of TUNING.looks) {
      if (walk !== undefined && look > TUNING.maxCollected) return yield* walk;
      if (look === Infinity ? walk === undefined : look >= firstLook) {
        yield 0;
        const found = await this.#few(asked, conditions, look, run);
        if (found !== undefined) return found;
      }
      while (walk !== undefined && walkedRows < look * TUNING.walkedPerScanned) {
        const step = await walk.next();
        if (step.done === true) return step.value;
        walkedRows += step.value;
        yield step.value;
      }
    }
    throw new Error('A walk ends');
  }

  async #skipping(
    asked: Asked,
    index: OrderIndex | undefined,
    conditions: readonly Condition[],
    run: Run,
  ): Promise<Skipping | undefined> {
    const { order, level } = asked;
    const key = index ?? referenceKeyOf(order.keys[level]!, order.scope);
    if (key === undefined || this.#skips === undefined) return undefined;
    this.#skipWalker ??= this.#openSkips(this.#skips, run);
    return (await this.#skipWalker)?.walk(asked, key, conditions);
  }

  async #openSkips(skips: SkipSource, run: Run): Promise<SkipWalker | undefined> {
    const sets = await openConditionSets(this.#order.scope, skips, run);
    return sets && new SkipWalker(sets, run);
  }

  async #few(
    asked: Asked,
    conditions: readonly Condition[],
    look: number,
    run: Run,
  ): Promise<readonly FoundText[] | undefined> {
    const reach = areFar(conditions) ? Math.ceil(look / TUNING.rowsPerFar) : look;
    const short = this.#outlook.maybeShort(look, conditions);
    const scans = await scansWithin(look, short, this.#skips !== undefined, this.#order.scope, (known) =>
      this.#range.shortest(look, known, run),
    );
    if (scans.length === 0 && this.#outlook.isLongerThan(look)) return undefined;
    const testOf = await this.#range.testOf(reach, conditions, run);
    const rows = await run(prepared(this.#collected(asked, conditions, scans, reach, testOf)));
    return rows[0]![0] === null ? undefined : foundTexts(rows, 1);
  }

  #collected(
    asked: Asked,
    conditions: readonly Condition[],
    scans: readonly Condition[],
    look: number,
    testOf = ({ test }: Condition): Sql => test,
  ): Sql {
    const starts = scans.length === 0 ? [allOfType(this.#order.scope)] : look === Infinity ? scans.slice(0, 1) : scans;
    const tests = conditions.filter((one) => !starts.includes(one));
    return collection(asked, starts, tests.map(testOf), look, testOf);
  }

  /** Resources before the range, in it, after it, and without a value: in this order or reversed. */
  async *#walk(asked: Asked, index: OrderIndex, conditions: readonly Condition[], run: Run): Finding {
    const { order, level, need } = asked;
    const bounds = await boundsOf(order.keys[level]!, index, conditions, order.scope, run);
    const { before, after } = bounds;
    const parts: ((left: Asked) => Finding)[] = [];
    if (before !== undefined) parts.push((left) => this.#outside(left, before, conditions, run));
    if (bounds.empty !== true) parts.push((left) => this.#range.find(left, index, bounds, conditions, run));
    if (after !== undefined) parts.push((left) => this.#outside(left, after, conditions, run));
    const { missing } = index;
    if (missing !== undefined) parts.push((left) => this.#missing(left, bounds, missing, conditions, run));
    if (order.backwards) parts.reverse();
    const found: FoundText[] = [];
    for (const part of parts) {
      if (found.length < need) append(found, yield* part({ ...asked, need: need - found.length }));
    }
    return found;
  }

  async *#missing(
    asked: Asked,
    bounds: Bounds,
    missing: Condition,
    conditions: readonly Condition[],
    run: Run,
  ): Finding {
    return !bounds.valued ? yield* this.#group(asked, null, missing, conditions, run) : [];
  }

  async *#outside(asked: Asked, outside: Condition, conditions: readonly Condition[], run: Run): Finding {
    yield 0;
    // Its test says more than its scan.
    const rows = await run(collection(asked, [outside], [...testsOf(conditions), outside.test], Infinity));
    return foundTexts(rows, 1);
  }

  /** Resources with one value, in the order of the next key. */
  async *#group(
    asked: Asked,
    value: SqlValue,
    condition: Condition,
    conditions: readonly Condition[],
    run: Run,
  ): Finding {
    const { order, level, place } = asked;
    const isHere = place !== undefined && isSame(place.values[0]!, value);
    // Resources without a value come last.
    if (place !== undefined && !isHere && value === null && order.backwards) return [];
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    return yield* this.#find({ ...asked, level: level + 1, place: rest }, [...conditions, condition], run);
  }
}

/** @param ofIndex a number may be in the form of the database */
function isSame(value: SqlValue, ofIndex: SqlValue): boolean {
  return typeof value === 'number' && ofIndex !== null ? value === Number(ofIndex) : value === ofIndex;
}
