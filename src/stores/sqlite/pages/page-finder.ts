import { FALSE, type Sql } from '../../sql/sql.js';
import { type Condition, isOnReferrers } from '../../sql/pages/condition.js';
import { DecidingKeys } from '../../sql/pages/deciding-keys.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import { type OrderIndex, orderIndexOf } from '../scans/order-index.js';
import { TUNING } from '../scans/tuning.js';
import { type Asked, collection } from './collection.js';
import { type FoundRow, sortedRows } from './found-rows.js';
import type { PreparedSearch } from './prepared-search.js';
import { inStretch, stretchFrom } from './stretch.js';
import { Walk } from './walk.js';

/**
 * Finds one page of a search by statements. There are two ways:
 *
 * - **collect**: read the scan of one condition, test the others, sort. The cost is the number of rows of the scan.
 * - **walk**: read the index of the first sort key in its order and test each row until the page is full. The cost is
 *   the number of rows up to there.
 */
export class PageFinder {
  readonly #order: PageOrder;
  readonly #asked: Asked;

  constructor(
    private readonly search: PreparedSearch,
    private readonly statements: Statements,
    private readonly guard: Guard,
  ) {
    const { scope, page, conditions } = search;
    const position = page.edge?.position;
    const deciding = new DecidingKeys(page.sort, position, scope);
    this.#order = { scope, keys: deciding.keys, backwards: search.isBackwards };
    const need = page.offset + (page.limit ?? Infinity);
    this.#asked = { conditions, need, place: deciding.placeOf(position) };
  }

  /** The page, if a walk of a few hundred rows fills it. */
  byShortWalk(): readonly number[] | undefined {
    if (this.#isEmpty) return [];
    const index = this.#index;
    if (index === undefined || this.#asked.conditions.some(isOnReferrers)) return undefined;
    return this.#keysOf(this.#walk(index).brief());
  }

  /** The page, however long it takes: from the rows of the shortest scan, or of the order if all scans are long. */
  byAnyWay(): readonly number[] {
    if (this.#isEmpty) return [];
    const start = this.search.shortestScan(100 * TUNING.narrow);
    const index = this.#index;
    if (start === undefined && index !== undefined) return this.#keysOf(this.#walk(index).whole())!;
    if (start?.rows === 0) return [];
    const first = this.#firstScan;
    this.guard.expect(start?.rows ?? (first === undefined ? 0 : Infinity));
    const statement = this.#collection(start?.condition ?? first);
    return this.#keysOf(sortedRows(statement, this.statements, this.#order, this.#asked.need, this.guard))!;
  }

  /** The statement of {@link byAnyWay}. */
  anyStatement(): { readonly way: 'collect' | 'walk'; readonly statement: Sql } {
    const start = this.search.shortestScan(100 * TUNING.narrow)?.condition;
    const walk = start === undefined ? this.walkStatement() : undefined;
    return walk === undefined
      ? { way: 'collect', statement: this.#collection(start ?? this.#firstScan) }
      : { way: 'walk', statement: walk };
  }

  /** The statement of a part of a walk. */
  walkStatement(): Sql | undefined {
    const { conditions, place } = this.#asked;
    const index = this.#index;
    return index && inStretch(this.#order, index, stretchFrom(this.#order, index, place), conditions, undefined);
  }

  get #isEmpty(): boolean {
    return this.#asked.need <= 0 || this.#asked.conditions.some(({ test }) => test === FALSE);
  }

  get #index(): OrderIndex | undefined {
    return orderIndexOf(this.#order.keys[0]!, this.#order.scope);
  }

  get #firstScan(): Condition | undefined {
    return this.#asked.conditions.find(({ scan }) => scan !== undefined);
  }

  #walk(index: OrderIndex): Walk {
    return new Walk(this.#order, this.#asked, index, this.statements, this.guard);
  }

  /** @param start the condition whose scan provides the rows; undefined: all resources of the type */
  #collection(start: Condition | undefined): Sql {
    const tests = this.#asked.conditions.filter((one) => one !== start).map(({ test }) => test);
    return collection(this.#order, this.#asked, start?.scan, tests);
  }

  #keysOf(found: readonly FoundRow[] | undefined): readonly number[] | undefined {
    const keys = found?.slice(this.search.page.offset).map(({ content }) => content);
    return this.#order.backwards ? keys?.reverse() : keys;
  }
}
