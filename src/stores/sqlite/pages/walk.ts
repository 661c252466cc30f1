import { allOf, type Sql, sql, type SqlValue } from '../../sql/sql.js';
import { inTime } from '../../sql/rows.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import type { Guard } from '../database/guard.js';
import type { Statements } from '../database/statements.js';
import type { OrderIndex } from '../scans/order-index.js';
import { TUNING } from '../scans/tuning.js';
import { type Asked, collection } from './collection.js';
import { compareRows, type FoundRow, foundRow, sortedRows } from './found-rows.js';
import { beyondRow, beyondValue, endOfStretch, inStretch, type Stretch, stretchFrom, fromValue } from './stretch.js';

/** Reads the index of the first sort key in its order and tests each row, until the page is full. */
export class Walk {
  readonly #compare: ReturnType<typeof compareRows>;
  readonly #found: FoundRow[] = [];

  constructor(
    private readonly order: PageOrder,
    private readonly asked: Asked,
    private readonly index: OrderIndex,
    private readonly statements: Statements,
    private readonly guard: Guard,
  ) {
    const descending = order.keys.map((key) => key.descending);
    this.#compare = compareRows(descending, order.backwards);
  }

  /** @returns undefined if the page is not full after a few hundred rows */
  brief(): readonly FoundRow[] | undefined {
    const { isMissing } = this.index;
    const { need, place } = this.asked;
    if (TUNING.walked === 0 || need > TUNING.maxChunk) return undefined;
    // Resources without a value are in no index.
    if (isMissing !== undefined && (place === undefined ? this.order.backwards : place.values[0] === null)) {
      return undefined;
    }
    if (!this.#values(need + TUNING.walked)) return undefined;
    return this.#found.length >= need || isMissing === undefined ? this.#page : undefined;
  }

  /** Reads as many rows as it takes. */
  whole(): readonly FoundRow[] {
    const { place } = this.asked;
    const { backwards } = this.order;
    const isPastValues = place?.values[0] === null;
    if (backwards && (place === undefined || isPastValues)) this.#lacking();
    if (this.#isOpen && (backwards || !isPastValues)) this.#values(Infinity);
    if (this.#isOpen && !backwards) this.#lacking();
    return this.#page;
  }

  get #isOpen(): boolean {
    return this.#found.length < this.asked.need;
  }

  get #page(): readonly FoundRow[] {
    return this.#found.slice(0, this.asked.need);
  }

  /** Finds the matches with a value. @returns false if neither the page nor the index would end after so many rows */
  #values(rows: number): boolean {
    const { need, place } = this.asked;
    const index = this.index;
    let stretch = stretchFrom(this.order, index, place);
    let from = place?.values[0] ?? undefined;
    let looked = 0;
    let matches = 0;
    for (let size = Math.min(need + Math.ceil(TUNING.walked / 25), TUNING.maxChunk); this.#isOpen;) {
      const last = this.statements.get(endOfStretch(index, stretch, size));
      const found = this.#matches(stretch, last);
      if (last === undefined) {
        this.#add(found);
        return true;
      }
      const value = last[0]!;
      // More rows may have the last value.
      this.#add(index.unique ? found : found.filter(({ values }) => values[0] !== value));
      looked += size;
      matches += found.length;
      if (this.#isOpen && rows !== Infinity && matches * rows < need * looked) return false;
      if (index.unique) stretch = { ...stretch, start: beyondRow(index, last, stretch.falling, false) };
      else if (value === from) {
        if (rows !== Infinity) return false;
        this.#withValue(value);
        stretch = { ...stretch, start: beyondValue(index, value, stretch.falling) };
        from = undefined;
      } else {
        stretch = { ...stretch, start: fromValue(index, value, stretch.falling) };
        from = value;
      }
      size = Math.min(2 * size, TUNING.maxChunk);
      this.guard.check();
    }
    return true;
  }

  /** Adds matches, which come after all before. */
  #add(rows: readonly FoundRow[]): void {
    for (const row of rows.toSorted(this.#compare)) this.#found.push(row);
  }

  /** The matches in a stretch beyond the position, in no order. */
  #matches(stretch: Stretch, last: readonly SqlValue[] | undefined): readonly FoundRow[] {
    const { conditions, place } = this.asked;
    const rows = this.statements.all(inStretch(this.order, this.index, stretch, conditions, last)).map(foundRow);
    return place === undefined ? rows : rows.filter((row) => this.#compare(row, place) > 0);
  }

  /** Adds all matches with a value that many rows have. */
  #withValue(value: SqlValue): void {
    const { key, from, where } = this.index;
    const among = allOf([where, sql`${this.index.value} = ${value}`, inTime(key, this.order.scope)]);
    this.#collect(sql`SELECT ${key} FROM ${from} WHERE ${among}`, []);
  }

  #lacking(): void {
    const { isMissing } = this.index;
    if (isMissing !== undefined) this.#collect(undefined, [isMissing]);
  }

  /** @param scan undefined: all resources of the type */
  #collect(scan: Sql | undefined, tests: readonly Sql[]): void {
    const need = this.asked.need - this.#found.length;
    const all = [...tests, ...this.asked.conditions.map(({ test }) => test)];
    const statement = collection(this.order, { ...this.asked, need }, scan, all);
    this.#found.push(...sortedRows(statement, this.statements, this.order, need, this.guard));
  }
}
