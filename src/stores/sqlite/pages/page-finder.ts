import type { SortKey } from '../../../search/criteria/criteria.js';
import type { SearchPosition } from '../../../search/evaluate/sort.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { FALSE, type Sql } from '../../sql/sql.js';
import type { Guard } from '../guard.js';
import type { Statements } from '../statements.js';
import { collection } from './collection.js';
import { type Condition, leavesOf } from '../../sql/pages/condition.js';
import type { FoundRow } from '../../sql/pages/found-row.js';
import { orderIndexOf } from './order-index.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import type { PreparedSearch } from './prepared-search.js';
import { SkipWalker } from './skip-walk.js';
import { sortedRows } from './sorted-rows.js';
import { inStretch, stretchOf } from './stretch.js';
import { TUNING } from './tuning.js';
import type { Finding } from './finding.js';
import { type OtherWays, Walker } from './walk.js';
import { boundsOf } from './walk-bounds.js';

/**
 * Finds one page of a search.
 *
 * There are three ways, and which one is short depends on the data:
 *
 * - **collect**: read the scan of the narrowest condition, test the others, sort. The cost is the number of its rows.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. The cost is the
 *   number of rows up to there. Where many rows have the same value, they are a page of their own, in the order of the next key; the ids
 *   are the last key.
 *
 * - **skip**: intersect the sets of resources that can meet the conditions, and read the order's parts for what is left; see
 *   skip-walk.ts. It is bounded by the length of the order: a granule takes as long as ten rows of a walk.
 *
 * They are tried in turn, each a little further than the other before, until one ends. So a page costs at most a few times
 * as much as the shorter way alone. Every statement reads a few thousand rows at most, except those that count and collect.
 */
export class PageFinder {
  readonly #search: PreparedSearch;
  readonly #statements: Statements;
  readonly #guard: Guard;
  readonly #order: PageOrder;
  readonly #walker: Walker;
  /** The indexes of the sort values in a position. */
  readonly #positions: readonly number[];
  #skipWalker: SkipWalker | undefined;
  #looked = 0;

  constructor(search: PreparedSearch, statements: Statements, guard: Guard) {
    const { scope, page } = search;
    const { sort, edge } = page;
    const id = sort.findIndex(({ parameter }) => parameter === '_id');
    // No key after the id can decide, nor a key that no resource has a value for.
    const keys = id < 0 ? [...sort, BY_ID] : sort.slice(0, id + 1);
    const hasPlace = (index: number): boolean => (edge?.position.values[index] ?? null) !== null;
    const deciding = [...keys.entries()].filter(([index, key]) => hasValues(key, scope) || hasPlace(index));
    this.#search = search;
    this.#statements = statements;
    this.#guard = guard;
    this.#order = { scope, keys: deciding.map(([, key]) => key), backwards: search.isBackwards };
    this.#positions = deciding.map(([position]) => position);
    const otherWays = {
      find: (...from: Parameters<OtherWays['find']>) => this.#find(...from),
      collect: (...from: Parameters<OtherWays['collect']>) => this.#collect(...from),
    };
    this.#walker = new Walker(statements, this.#order, otherWays);
  }

  /** The page; from its end backwards where it ends at a position. @param among further conditions on its matches */
  find(among: readonly Condition[] = []): readonly FoundRow[] {
    const { offset, edge } = this.#search.page;
    const conditions = [...among, ...this.#search.conditions];
    const finding = this.#find(0, conditions, this.#need, this.#placeAt(edge?.position));
    for (;;) {
      const step = finding.next();
      if (step.done === true) return step.value.slice(offset);
      this.#looked += step.value;
      this.#guard.check();
    }
  }

  /** Rows of indexes and scans that were looked at, more or less. */
  get looked(): number {
    return this.#looked;
  }

  /** The statements of both ways: one that collects, and one stretch of a walk. For people. */
  statements(): readonly Sql[] {
    const { conditions, probes, page } = this.#search;
    const place = this.#placeAt(page.edge?.position);
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    const start = probes.shortestUnder(MANY, scans)?.condition ?? scans[0];
    const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
    const collect = collection(this.#order, 0, start?.scan, tests, this.#need, place);
    const [key] = this.#order.keys as readonly [SortKey];
    const index = orderIndexOf(key, this.#order.scope);
    if (index === undefined) return [collect];
    const bounds = boundsOf(key, index, conditions, this.#order.scope, this.#statements);
    const stretch = stretchOf(this.#order, key, index, bounds, place?.values[0] ?? undefined);
    const walk = inStretch(this.#order, 0, index, stretch, conditions, undefined);
    return start === undefined ? [walk] : [collect, walk];
  }

  get #need(): number {
    const { offset, limit = Infinity } = this.#search.page;
    return offset + limit;
  }

  /** The id is a key like the others, whether or not it was asked for. */
  #placeAt(position: SearchPosition | undefined): PagePosition | undefined {
    if (position === undefined) return undefined;
    const { values, id } = position;
    return { values: this.#positions.map((index) => (index < values.length ? values[index]! : id)), id };
  }

  /** From one key of the sort on, among what meets the conditions. */
  *#find(
    level: number,
    conditions: readonly Condition[],
    need: number,
    place: PagePosition | undefined,
    bySets = true,
  ): Finding {
    if (need <= 0 || conditions.some(({ test }) => test === FALSE)) return [];
    const walk = wayOf(this.#walk(level, conditions, need, place));
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    let skips: { readonly way: Way | undefined } | undefined;
    for (const look of TUNING.looks) {
      const isLast = look === Infinity;
      if (bySets && (look >= TUNING.skipFrom || conditions.some(isDear))) {
        skips ??= { way: this.#skipWay(level, conditions, need, place) };
        const found = yield* until(look * TUNING.skippedPerScanned, skips.way);
        if (found !== undefined) return found;
      }
      const shortest = isLast ? undefined : this.#search.probes.shortestUnder(look, scans.filter(isWorth(look)));
      if (shortest !== undefined || (isLast && walk === undefined)) {
        yield shortest?.rows ?? 0;
        if (shortest?.rows === 0) return [];
        this.#guard.expect(shortest?.rows ?? (scans.length === 0 ? 0 : MANY));
        return this.#collect(level, conditions, shortest?.condition ?? scans[0], need, place);
      }
      const walked = yield* until(look * TUNING.walkedPerScanned, walk);
      if (walked !== undefined) return walked;
    }
    throw new Error('A walk ends');
  }

  /** @param start its scan is where rows come from; undefined: all of the type */
  #collect(
    level: number,
    conditions: readonly Condition[],
    start: Condition | undefined,
    need: number,
    place: PagePosition | undefined,
  ): readonly FoundRow[] {
    const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
    const statement = collection(this.#order, level, start?.scan, tests, need, place);
    return sortedRows(statement, this.#statements, this.#order, level, need, this.#guard);
  }

  /** Without a condition nothing can be left out, but an order that no index has. */
  #skipWay(
    level: number,
    conditions: readonly Condition[],
    need: number,
    place: PagePosition | undefined,
  ): Way | undefined {
    const { skips } = this.#search;
    const hasOrder = orderIndexOf(this.#order.keys[level]!, this.#order.scope) !== undefined;
    if (skips === undefined || (hasOrder && conditions.length === 0)) return undefined;
    this.#skipWalker ??= new SkipWalker(skips, this.#statements, this.#order);
    const walk = this.#skipWalker.walk(level, conditions, need, place);
    if (walk !== undefined || conditions.length === 0) return wayOf(walk);
    const fewer = this.#skipWalker.among(conditions);
    return fewer && wayOf(this.#find(level, fewer, need, place, false));
  }

  /** Undefined where no index has the order. */
  #walk(
    level: number,
    conditions: readonly Condition[],
    need: number,
    place: PagePosition | undefined,
  ): Finding | undefined {
    const key = this.#order.keys[level]!;
    const index = orderIndexOf(key, this.#order.scope);
    return index && this.#walker.walk(level, index, conditions, need, place);
  }
}

/** A way to find rows, gone a part at a time. */
interface Way {
  readonly finding: Finding;
  looked: number;
}

function wayOf(finding: Finding | undefined): Way | undefined {
  return finding && { finding, looked: 0 };
}

/** Continues until so many rows were looked at. @returns what was found, at the end of the way */
function* until(rows: number, way: Way | undefined): Generator<number, readonly FoundRow[] | undefined> {
  while (way !== undefined && way.looked < rows) {
    const step = way.finding.next();
    if (step.done === true) return step.value;
    way.looked += step.value;
    yield step.value;
  }
  return undefined;
}

/** Rows of a scan that are looked at to explain a search. */
const MANY = 10_000;

const BY_ID: SortKey = { parameter: '_id', descending: false };

function hasValues({ parameter }: SortKey, scope: RowScope): boolean {
  return parameter === '_id' || parameter === '_lastUpdated' || parameterKey(scope, parameter) !== undefined;
}

/** Its test may look at many other resources, which takes longer than its set. */
function isDear({ criteria }: Condition): boolean {
  return criteria !== undefined && leavesOf(criteria).some(({ kind }) => kind === 'has');
}

/** Which scans may be read to find out whether they are shorter. */
function isWorth(look: number): (condition: Condition) => boolean {
  return ({ direct, reads }) =>
    direct === true || (look >= TUNING.indirectFrom && (reads ?? 0) <= look * TUNING.readPerScanned);
}
