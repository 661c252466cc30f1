import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import { type Condition, isOnReferrers, testsOf } from '../../sql/pages/condition.js';
import type { CallTexts } from '../../../store/text-budget.js';
import { DecidingKeys } from '../../sql/pages/deciding-keys.js';
import type { RowScope } from '../../sql/rows.js';
import { FALSE, type Sql, sql, type SqlValue } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import { openConditionSets, typesOf } from '../skip/sets/open-condition-sets.js';
import { referenceKeyOf } from '../skip/build/reference-order.js';
import { type SkipSource, SkipStates } from '../skip/read/skip-state.js';
import { prepared } from '../database/statements.js';
import { collection } from './collection.js';
import { areSparse, haveLongSets, lackScans } from '../scans/far.js';
import { type OrderIndex, orderIndexOf } from '../scans/order-index.js';
import { Outlook } from './outlook.js';
import { allOfType, scansFor } from '../scans/own-scans.js';
import { type Asked, isDeep } from '../scans/page-statement.js';
import { append, type Finding, foundTexts, RangeWalk, stretchOf } from '../scans/range-walk.js';
import { scansWithin } from './scans-within.js';
import { type Skipping, SkipWalker } from './skip-walk.js';
import { walked } from '../scans/stretch.js';
import { TUNING } from '../scans/tuning.js';
import { boundsOf } from '../scans/walk-bounds.js';
import { type Way, wayOf } from '../../sql/pages/way.js';
import { type PartOfWay, until } from './way.js';

/** A page to find. */
export interface PageRequest {
  readonly scope: RowScope;
  readonly sort: readonly SortKey[];
  /** True if the page is found from its end. */
  readonly backwards: boolean;
  /** The page begins after this position, or (backwards) ends before it. */
  readonly position: SearchPosition | undefined;
  /** Matches on the page and before it. */
  readonly need: number;
  /** The first matches that are not shown: they have empty texts. */
  readonly offset: number;
  /** The condition that the index has not changed; otherwise the statement ends. */
  readonly holds: Sql;
  /** Undefined: without skip indexes. */
  readonly skips: SkipSource | undefined;
  /** Counts the texts of the page. */
  readonly texts: CallTexts | undefined;
}

/**
 * Finds one page of a search.
 *
 * There are three ways, and which one is short depends on the data:
 *
 * - **collect**: read the matches of the narrowest condition, test the rest, sort. The cost is the number of these matches.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. Its cost is
 *   the number of rows up to there. If many rows have the same value, they are a page of their own, in the order of the
 *   next key; the ids are the last key.
 * - **skip**: intersect the sets of resources that can meet the conditions, and read the order's granules for the
 *   remaining resources; see skip-walk.ts. With exact sets, its cost is the size of the page, and it replaces the walk.
 *
 * Each step is one statement, which reads a bounded number of rows. If neither the conditions nor the sets tell which
 * way is short, two of them take turns, each with ten times as many rows as before, until one ends. See
 * stores/sqlite/pages for the same over SQLite, where a statement costs nothing.
 */
export class PageFinder {
  readonly #asked: Asked;
  readonly #outlook: Outlook;
  readonly #range: RangeWalk;
  readonly #skips: SkipSource | undefined;
  #skipWalker: Promise<SkipWalker | undefined> | undefined;
  #states: SkipStates | undefined;

  constructor({ scope, sort, backwards, position, need, offset, holds, skips, texts }: PageRequest) {
    const keys = new DecidingKeys(sort, position, scope);
    const place = keys.placeOf(position);
    this.#asked = {
      order: { scope, keys: keys.keys, backwards },
      level: 0,
      need,
      shown: need - offset,
      place,
      holds,
      texts,
    };
    this.#skips = skips;
    this.#range = new RangeWalk({
      group: (...of) => this.#group(...of),
      outside: (...of) => this.#outside(...of),
    });
    this.#outlook = new Outlook(scope, skips);
  }

  /** The page among the matches of the narrowest condition, in one statement. Undefined if they are many or slow. */
  async few(conditions: readonly Condition[], run: Run): Promise<readonly string[] | undefined> {
    if (isNever(conditions)) return [];
    const [look] = TUNING.looks as readonly [number];
    if (look === Infinity || this.#skipsFirst(conditions)) return undefined;
    return this.#few(this.#asked, conditions, look, run);
  }

  #skipsFirst(conditions: readonly Condition[]): boolean {
    return this.#skips !== undefined && (areSparse(conditions) || lackScans(conditions, this.#asked.order.scope));
  }

  /** The page that {@link few} does not find, in its order or (backwards) reversed. @param run runs in one snapshot */
  async find(conditions: readonly Condition[], run: Run): Promise<readonly string[]> {
    this.#states = new SkipStates(this.#asked.order.scope.project, this.#skips?.epoch ?? '', run);
    const finding = this.#find(this.#asked, conditions, run, !this.#skipsFirst(conditions));
    for (;;) {
      const step = await finding.next();
      if (step.done === true) return step.value;
    }
  }

  /** The statements of an explanation: one that collects, and one stretch of a walk. */
  statements(conditions: readonly Condition[]): readonly Sql[] {
    const asked = this.#asked;
    const [look] = TUNING.looks as readonly [number];
    const collected = this.#collected(asked, conditions, scansFor(look, conditions), look);
    const index = this.#indexOf(asked);
    if (index === undefined) return [collected];
    const stretch = stretchOf(asked, index, { valued: true });
    return [collected, walked(asked, index, stretch, testsOf(conditions), TUNING.stretch)];
  }

  #indexOf({ order, level, need }: Asked): OrderIndex | undefined {
    return need === Infinity ? undefined : orderIndexOf(order.keys[level]!, order.scope);
  }

  /** Undefined if no index has all values in the order. */
  async #wholeIndex(asked: Asked, conditions: readonly Condition[]): Promise<OrderIndex | undefined> {
    const index = this.#indexOf(asked);
    if (index === undefined || index.lacks === FALSE) return index;
    const types = this.#skips === undefined ? [] : typesOf(asked.order.scope, conditions);
    const lacks = await this.#states!.read(types, sql`CASE WHEN ${index.lacks} THEN 1 ELSE 0 END`);
    return lacks === 1 ? undefined : index;
  }

  /** @param isKnownLong true if every scan is longer than the first look */
  async *#find(asked: Asked, conditions: readonly Condition[], run: Run, isKnownLong = false): Finding {
    if (asked.need <= 0 || isNever(conditions)) return [];
    const index = await this.#wholeIndex(asked, conditions);
    const walk = wayOf(index && this.#walk(asked, index, conditions, run));
    const first = yield* this.#withoutSets(asked, conditions, walk);
    if (first !== undefined) return first;
    const skipping = await this.#skipping(asked, index, conditions, run);
    return (
      (yield* this.#bySets(asked, conditions, walk, skipping)) ??
      (yield* this.#inTurns(asked, conditions, wayOf(skipping?.finding) ?? walk, isKnownLong, run))
    );
  }

  /** Walks to the page if there are no conditions, and a little if the first rows are likely to fill it. */
  async *#withoutSets(asked: Asked, conditions: readonly Condition[], walk: Way<Finding> | undefined): PartOfWay {
    if (walk === undefined || isDeep(asked)) return undefined;
    if (conditions.length === 0) return yield* until(Infinity, walk);
    // PERF: a page that the first rows fill needs no sets.
    const isLong = this.#skips !== undefined && haveLongSets(conditions) && !areSparse(conditions);
    return isLong ? yield* this.#outlook.firstRows(walk, asked, conditions) : undefined;
  }

  /** Skips to the page if testing the members of the sets takes no longer than another way. */
  async *#bySets(
    asked: Asked,
    conditions: readonly Condition[],
    walk: Way<Finding> | undefined,
    skipping: Skipping | undefined,
  ): PartOfWay {
    if (skipping === undefined) return conditions.length === 0 ? yield* until(Infinity, walk) : undefined;
    const { exact, share } = skipping;
    // PERF: of the resources with a frequent value, a granule has many more than a page.
    const isBroad = share >= TUNING.mostShare && !(exact && conditions.some(isOnReferrers));
    const isUntried = walk?.looked === 0 && !isDeep(asked);
    if (isUntried && isBroad) {
      const found = yield* this.#outlook.firstRows(walk, asked, conditions, share);
      if (found !== undefined) return found;
    }
    return exact || areSparse(conditions) ? yield* skipping.finding : undefined;
  }

  /** Collects matches and walks, each further than before; with sets it skips instead of walking. */
  async *#inTurns(
    asked: Asked,
    conditions: readonly Condition[],
    walk: Way<Finding> | undefined,
    isKnownLong: boolean,
    run: Run,
  ): Finding {
    const isWalked = walk !== undefined && this.#skips !== undefined && lackScans(conditions, asked.order.scope);
    const firstLook = isWalked ? TUNING.indirectFrom : isKnownLong ? TUNING.looks[0]! + 1 : 0;
    const before = walk?.looked ?? 0;
    for (const look of TUNING.looks) {
      const isLast = walk !== undefined && look > TUNING.maxCollected;
      if (!isLast && look >= firstLook) {
        yield 0;
        const collected = await this.#few(asked, conditions, look, run);
        if (collected !== undefined) return collected;
      }
      const found = yield* until(isLast ? Infinity : before + look, walk);
      if (found !== undefined) return found;
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
    this.#skipWalker ??= this.#openSkips(this.#skips, conditions, run);
    return (await this.#skipWalker)?.walk(asked, key, conditions);
  }

  async #openSkips(skips: SkipSource, conditions: readonly Condition[], run: Run): Promise<SkipWalker | undefined> {
    const sets = await openConditionSets(this.#asked.order.scope, skips, run, { conditions, states: this.#states });
    return sets && new SkipWalker(sets, run);
  }

  async #few(
    asked: Asked,
    conditions: readonly Condition[],
    look: number,
    run: Run,
  ): Promise<readonly string[] | undefined> {
    const short = this.#outlook.maybeShort(look, conditions);
    const scans = await scansWithin(look, short, this.#skips !== undefined, asked.order.scope, (known) =>
      this.#range.shortest(look, known, run),
    );
    if (scans.length === 0 && this.#outlook.isLongerThan(look)) return undefined;
    const testOf = await this.#range.testOf(look, conditions, run);
    const rows = await run(prepared(this.#collected(asked, conditions, scans, look, testOf)));
    return rows[0]![0] === null ? undefined : foundTexts(rows, 1, asked.texts);
  }

  #collected(
    asked: Asked,
    conditions: readonly Condition[],
    scans: readonly Condition[],
    look: number,
    testOf = ({ test }: Condition): Sql => test,
  ): Sql {
    const starts = scans.length === 0 ? [allOfType(asked.order.scope)] : look === Infinity ? scans.slice(0, 1) : scans;
    const tests = conditions.filter((one) => !starts.includes(one));
    return collection(asked, starts, tests.map(testOf), look, testOf);
  }

  /** Resources before the range, in it, after it, and without a value: in this order or reversed. */
  async *#walk(asked: Asked, index: OrderIndex, conditions: readonly Condition[], run: Run): Finding {
    const { order, level, need } = asked;
    const bounds = await boundsOf(order.keys[level]!, index, conditions, order.scope, run);
    const { missing } = index;
    const { before, after } = bounds;
    const parts: ((left: Asked) => Finding)[] = [];
    if (before !== undefined) parts.push((left) => this.#outside(left, before, conditions, run));
    if (bounds.empty !== true) parts.push((left) => this.#range.find(left, index, bounds, conditions, run));
    if (after !== undefined) parts.push((left) => this.#outside(left, after, conditions, run));
    if (missing !== undefined && !bounds.valued) {
      parts.push((left) => this.#group(left, null, missing, conditions, run));
    }
    if (order.backwards) parts.reverse();
    const found: string[] = [];
    for (const part of parts) {
      if (found.length < need) append(found, yield* part({ ...asked, need: need - found.length }));
    }
    return found;
  }

  /** The test is narrower than the scan. */
  async *#outside(asked: Asked, outside: Condition, conditions: readonly Condition[], run: Run): Finding {
    yield 0;
    const rows = await run(collection(asked, [outside], [...testsOf(conditions), outside.test], Infinity));
    return foundTexts(rows, 1, asked.texts);
  }

  /** The resources with one value, in the order of the next key. */
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

function isNever(conditions: readonly Condition[]): boolean {
  return conditions.some(({ test }) => test === FALSE);
}

/** @param ofIndex numbers may be texts of the database */
function isSame(value: SqlValue, ofIndex: SqlValue): boolean {
  return typeof value === 'number' && ofIndex !== null ? value === Number(ofIndex) : value === ofIndex;
}
