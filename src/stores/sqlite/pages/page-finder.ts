import type { SortKey } from '../../../search/criteria/criteria.js';
import { FALSE, type Sql } from '../../sql/sql.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import { collection } from './collection.js';
import { type Condition, isOnReferrers } from '../../sql/pages/condition.js';
import { DecidingKeys } from '../../sql/pages/deciding-keys.js';
import type { FoundRow } from './found-row.js';
import { orderIndexOf } from '../scans/order-index.js';
import type { PageOrder, PagePosition } from '../../sql/pages/page-order.js';
import type { PreparedSearch } from './prepared-search.js';
import { SkipWalker } from './skip-walk.js';
import { sortedRows } from './sorted-rows.js';
import { inStretch, stretchOf } from './stretch.js';
import { TUNING } from '../scans/tuning.js';
import type { Asked, Finding } from './finding.js';
import { Walker } from './walk.js';
import { boundsOf } from '../scans/walk-bounds.js';
import { type Way, wayOf } from '../../sql/pages/way.js';
import { type PartOfWay, until } from './way.js';

/**
 * Finds one page of a search.
 *
 * There are three ways, and which one is short depends on the data:
 *
 * - **collect**: read the scan of the narrowest condition, test the others, sort. The cost is the number of rows of the
 *   scan.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. The cost is
 *   the number of rows up to there. If many rows have the same value, they are a page of their own, in the order of the
 *   next key; the ids are the last key.
 * - **skip**: intersect the sets of resources that can meet the conditions, and read the order's granules for the
 *   remaining resources; see skip-walk.ts. The length of the order bounds its cost: a granule takes as long as four
 *   rows of a walk.
 *
 * The ways take turns, each going a little further every time, until one of them ends. So a page costs at most a few
 * times as much as the shortest way alone. Every statement reads a few thousand rows at most, except those that count
 * and collect.
 */
export class PageFinder {
  readonly #search: PreparedSearch;
  readonly #statements: Statements;
  readonly #guard: Guard;
  readonly #order: PageOrder;
  readonly #walker: Walker;
  readonly #place: PagePosition | undefined;
  #skipWalker: SkipWalker | undefined;
  #looked = 0;

  constructor(search: PreparedSearch, statements: Statements, guard: Guard) {
    const { scope, page } = search;
    const position = page.edge?.position;
    const deciding = new DecidingKeys(page.sort, position, scope);
    this.#search = search;
    this.#statements = statements;
    this.#guard = guard;
    this.#order = { scope, keys: deciding.keys, backwards: search.isBackwards };
    this.#place = deciding.placeOf(position);
    this.#walker = new Walker(statements, this.#order, {
      find: (asked) => this.#find(asked),
      sorted: (asked, start) => this.#sorted(asked, start),
    });
  }

  /** The rows of the page, reversed if the page ends at a position. @param among further conditions on its matches */
  find(among: readonly Condition[] = []): readonly FoundRow[] {
    const finding = this.#find(this.#asked([...among, ...this.#search.conditions]));
    for (;;) {
      const step = finding.next();
      if (step.done === true) return step.value.slice(this.#search.page.offset);
      this.#looked += step.value;
      this.#guard.check();
    }
  }

  /** About how many rows of indexes and scans were read. */
  get looked(): number {
    return this.#looked;
  }

  /** The statements of an explanation: one that collects, and one stretch of a walk. */
  statements(): readonly Sql[] {
    const { conditions, probes } = this.#search;
    const asked = this.#asked(conditions);
    const scans = conditions.filter(({ scan }) => scan !== undefined);
    const start = probes.shortestUnder(MANY, scans)?.condition ?? scans[0];
    const tests = conditions.filter((one) => one !== start).map(({ test }) => test);
    const collect = collection(this.#order, asked, start?.scan, tests);
    const [key] = this.#order.keys as readonly [SortKey];
    const index = orderIndexOf(key, this.#order.scope);
    if (index === undefined) return [collect];
    const bounds = boundsOf(key, index, conditions, this.#order.scope, this.#statements);
    const stretch = stretchOf(this.#order, key, index, bounds, asked.place?.values[0] ?? undefined);
    const walk = inStretch(this.#order, 0, index, stretch, conditions, undefined);
    return start === undefined ? [walk] : [collect, walk];
  }

  #asked(conditions: readonly Condition[]): Asked {
    const { offset, limit = Infinity } = this.#search.page;
    return { level: 0, conditions, need: offset + limit, place: this.#place };
  }

  /** Tries the ways in turn: sets, scans, the order. Each goes further in each round. */
  *#find(asked: Asked, bySets = true): Finding {
    const { conditions, need } = asked;
    if (need <= 0 || conditions.some(({ test }) => test === FALSE)) return [];
    const walk = wayOf(this.#walk(asked));
    let skip: { readonly way: Way<Finding> | undefined } | undefined;
    for (const look of TUNING.looks) {
      if (bySets && (look >= TUNING.skipFrom || conditions.some(isOnReferrers))) skip ??= { way: this.#skip(asked) };
      const found =
        (yield* until(look * TUNING.skippedPerScanned, skip?.way)) ??
        (yield* this.#few(look, asked, walk === undefined)) ??
        (yield* until(look * TUNING.walkedPerScanned, walk));
      if (found !== undefined) return found;
    }
    throw new Error('A walk ends');
  }

  /** Sorts the rows of the shortest scan if it is below `look`. @param isOnly the last look then sorts all rows */
  *#few(look: number, asked: Asked, isOnly: boolean): PartOfWay {
    const isLast = look === Infinity;
    if (isLast && !isOnly) return undefined;
    const scans = (isLast ? asked.conditions : asked.conditions.filter(isWorth(look))).filter(hasScan);
    const shortest = isLast ? undefined : this.#search.probes.shortestUnder(look, scans);
    if (shortest === undefined && !isLast) return undefined;
    yield shortest?.rows ?? 0;
    if (shortest?.rows === 0) return [];
    this.#guard.expect(shortest?.rows ?? (scans.length === 0 ? 0 : MANY));
    return this.#sorted(asked, shortest?.condition ?? scans[0]);
  }

  /** @param start the condition whose scan provides the rows; undefined: all resources of the type */
  #sorted(asked: Asked, start: Condition | undefined): readonly FoundRow[] {
    const tests = asked.conditions.filter((one) => one !== start).map(({ test }) => test);
    const statement = collection(this.#order, asked, start?.scan, tests);
    return sortedRows(statement, this.#statements, this.#order, asked, this.#guard);
  }

  /** Without conditions, skipping only helps if no index has the order. */
  #skip(asked: Asked): Way<Finding> | undefined {
    const { skips } = this.#search;
    const { level, conditions } = asked;
    const hasOrder = orderIndexOf(this.#order.keys[level]!, this.#order.scope) !== undefined;
    if (skips === undefined || (hasOrder && conditions.length === 0)) return undefined;
    this.#skipWalker ??= new SkipWalker(skips, this.#statements, this.#order);
    const found = this.#skipWalker.walk(asked);
    if (found !== undefined || conditions.length === 0) return wayOf(found);
    const fewer = this.#skipWalker.among(conditions);
    return fewer && wayOf(this.#find({ ...asked, conditions: fewer }, false));
  }

  /** Undefined if no index has the order. */
  #walk(asked: Asked): Finding | undefined {
    const index = orderIndexOf(this.#order.keys[asked.level]!, this.#order.scope);
    return index && this.#walker.walk(asked, index);
  }
}

/** Maximum rows of a scan that are read to explain a search. */
const MANY = 10_000;

function hasScan({ scan }: Condition): boolean {
  return scan !== undefined;
}

/** Selects the scans that may be read to find out whether they are short. */
function isWorth(look: number): (condition: Condition) => boolean {
  return ({ direct, reads }) =>
    direct === true || (look >= TUNING.indirectFrom && (reads ?? 0) <= look * TUNING.readPerScanned);
}
