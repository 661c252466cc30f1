import { partWith, rangeOf } from '../../../sql/pages/value-range.js';
import type { RowScope } from '../../../sql/rows.js';
import type { ConditionSet } from '../../../sql/skip/condition-set.js';
import type { KeySet } from '../../../sql/skip/key-set.js';
import { type Granules, granulesInRange, runsOf } from '../../../sql/skip/range-granules.js';
import { sql, type Sql } from '../../../sql/sql.js';
import { asksForUnit, isByStart, isOpenAbove, isOpenBelow, type RangeCriteria } from '../../../sql/skip/range-tests.js';
import { LongIntervals } from './long-intervals.js';
import { rangeValues, type RangeValues } from '../format/range-values.js';
import type { SkipIndex } from '../read/skip-index.js';
import type { SkipOrderKeys } from '../read/order-keys.js';
import { orderName, orderNames, type RowName } from '../read/skip-rows.js';
import { BY_END, SETS, SEVERAL, SKIP_TUNING, subjectOf } from '../../rows/skip-row.js';

/** The lookups of the server for a range. */
export interface RangeReads {
  /** Selects of keys; `keep` gets undefined if the scan finds too many. */
  readonly scans: readonly { readonly scan: Sql; keep(set: KeySet | undefined): void }[];
  /** Expressions of texts. */
  readonly texts: readonly { readonly text: Sql; keep(text: string): void }[];
}

/**
 * The resources with a value in a range, by the granules of an order.
 *
 * In a granule within the range every value matches. At the ends of the range the server tests the values of a granule, in the
 * order of its numbers; of many granules it returns the resources that match. Long intervals are few, so they are read: those
 * that match although they begin before the range, and those that do not match because they end after it.
 *
 * For a resource with several values, an order has one of them. The largest decides a range without an upper end, the
 * smallest a range without a lower end.
 */
export class RangeSet {
  readonly #criteria: RangeCriteria;
  readonly #index: SkipIndex;
  readonly #order: SkipOrderKeys;
  readonly #values: RangeValues;
  /** The resources with several values. */
  readonly #several: KeySet;
  /** From the first granule to the last one with values that may match. */
  readonly #span: readonly [from: number, to: number];
  readonly #inRange: Granules;
  /** True if the range has an upper end. */
  readonly #isCut: boolean;
  readonly #reaching: LongIntervals;
  readonly #leaving: LongIntervals;
  /** For each tested granule, a character per resource. */
  readonly #tested = new Map<number, string>();
  /** For each granule in a scanned run, the matches in that run; undefined if they are too many. */
  readonly #scanned = new Map<number, KeySet | undefined>();
  /** The resources of the index that were not written since. */
  #current: KeySet;

  private constructor(criteria: RangeCriteria, index: SkipIndex, order: SkipOrderKeys, scope: RowScope) {
    const parameter = parameterOf(criteria);
    this.#criteria = criteria;
    this.#index = index;
    this.#order = order;
    this.#values = rangeValues(criteria, scope);
    this.#several = index.setOf(subjectOf(parameter, scope)!, SEVERAL) ?? index.emptySet();
    const range = rangeOf(criteria, parameter)!;
    this.#inRange = granulesInRange(criteria, order, range, false);
    const { low, high } = range;
    const { starts } = order;
    const from = low === undefined ? 0 : partWith(starts, low);
    this.#span = [from, high === undefined ? starts.length - 1 : partWith(starts, high)];
    this.#isCut = high !== undefined;
    const ends = asksForUnit(criteria.test) ? undefined : index.orders.ends(subjectOf(parameter, scope)!);
    const { reaching, leaving } = this.#values;
    [this.#reaching, this.#leaving] = [reaching, leaving].map((long) => new LongIntervals(long, index, ends)) as [
      LongIntervals,
      LongIntervals,
    ];
    this.#current = index.all;
  }

  /** The names of the rows of an order of the values. */
  static namesOf(criteria: RangeCriteria, scope: RowScope): readonly RowName[] {
    const parameter = parameterOf(criteria);
    const subject = parameter.includes('$') ? undefined : subjectOf(parameter, scope);
    return subject === undefined
      ? []
      : [{ sort: SETS, subject, value: SEVERAL }, ...orderNames(subject), orderName(subject, BY_END)];
  }

  /** Undefined if no order has the matches as a range. Load the rows of the order first. */
  static of(criteria: RangeCriteria, index: SkipIndex, scope: RowScope): RangeSet | undefined {
    const [name] = RangeSet.namesOf(criteria, scope);
    if (name === undefined || rangeOf(criteria, parameterOf(criteria)) === undefined) return undefined;
    const order = index.orders.of(name.subject, isOpenAbove(criteria.test));
    return order && new RangeSet(criteria, index, order, scope);
  }

  /** The granules and lookups that the set needs. */
  get granules(): readonly RowName[] {
    const [from, to] = this.#span;
    return [
      ...this.#order.rowsOf(from, this.#cuts ? this.#order.starts.length - 1 : to),
      ...this.#reaching.granules,
      ...this.#leaving.granules,
    ];
  }

  /** True if many resources may match by another value than the one in the order. */
  get isVague(): boolean {
    return !this.#isOpen && this.#several.count > SKIP_TUNING.manySeveral;
  }

  /** The number of resources that match by the value in the order, without those at the ends of the range. Load the granules first. */
  get sureCount(): number {
    const set = this.#index.emptySet();
    this.#order.addAll(set, this.#inRange.all);
    this.#order.addAll(set, this.#inRange.short);
    return set.count;
  }

  /**
   * The lookups that the set needs. Load the granules first.
   *
   * @param written the numbers of the resources written since
   * @param most the maximum number of resources whose values are compared by scans
   */
  reads(written: readonly number[], most: number): RangeReads {
    if (written.length > 0) {
      this.#current = this.#index.all.copy();
      for (const number of written) this.#current.delete(number);
    }
    const { some } = this.#inRange;
    const count = some.reduce((sum, granule) => sum + this.#numbersOf(granule).length, 0);
    const areFew = some.length <= SKIP_TUNING.maxTested && count <= SKIP_TUNING.maxTested * SKIP_TUNING.granule;
    const runs = areFew || count > most ? [] : runsOf(some);
    return {
      scans: [...this.#reaching.scans, ...this.#leaving.scans, ...runs.map((run) => this.#scanOf(...run))],
      texts: (areFew ? some : []).map((granule) => ({
        text: this.#testOf(granule),
        keep: (text) => void this.#tested.set(granule, text),
      })),
    };
  }

  /** The set, once all is read. Undefined if too many long intervals match. */
  find(): ConditionSet | undefined {
    const [reaching, leaving] = [this.#reaching.find(), this.#leaving.find()];
    if (reaching === undefined) return undefined;
    if (this.#cuts) reaching.subtract(this.#beginningAfter()).subtract(this.#several);
    const [sure, open, failing] = [this.#index.emptySet(), this.#index.emptySet(), this.#index.emptySet()];
    this.#order.addAll(leaving === undefined ? open : sure, this.#inRange.short);
    if (leaving !== undefined) {
      sure.subtract(leaving);
      failing.unite(leaving);
    }
    for (const granule of this.#inRange.some) {
      const isKnown = this.#addTested(granule, sure, failing) || this.#addScanned(granule, sure, failing);
      if (!isKnown) this.#order.addTo(open, granule);
    }
    this.#order.addAll(sure, this.#inRange.all);
    sure.unite(reaching);
    // A resource whose value in the order does not match may have another value that does.
    if (!this.#isOpen) open.unite(this.#several);
    else if (!isByStart(this.#criteria.test)) open.unite(failing.intersect(this.#several));
    open.subtract(sure);
    if (this.#index.isLayered) for (const set of [sure, open]) set.intersect(this.#index.all);
    if (open.count === 0) return { set: sure, exact: true };
    return { set: open.unite(sure), exact: false, sure };
  }

  /** Whether the value in the order decides for all values of a resource. */
  get #isOpen(): boolean {
    return isOpenAbove(this.#criteria.test) || isOpenBelow(this.#criteria.test);
  }

  /** Whether intervals that begin after the range are left out, since they also end after it. */
  get #cuts(): boolean {
    return this.#isCut && this.#reaching.areOrdered;
  }

  /** The resources from the last granule of the range on; that granule is tested. */
  #beginningAfter(): KeySet {
    const found = this.#index.emptySet();
    const { length } = this.#order.starts;
    const [, to] = this.#span;
    this.#order.addAll(found, [...Array(length).keys()].slice(to));
    return found;
  }

  #numbersOf(granule: number): readonly number[] {
    return this.#order.keysOf(granule, this.#current);
  }

  #testOf(granule: number): Sql {
    const { key, test } = this.#values;
    const old = this.#index.pending === 0 ? sql`` : sql`AND ${key} NOT IN (${this.#index.written})`;
    return sql`(SELECT string_agg(CASE WHEN ${test} THEN '1' ELSE '0' END, '' ORDER BY ${key})
      FROM ${this.#valuesOf(granule, granule)} ${old})`;
  }

  /** The values of neighboring granules. */
  #valuesOf(first: number, last: number): Sql {
    const { starts } = this.#order;
    const { from, value } = this.#values;
    const end = last + 1 === starts.length ? sql`` : sql`AND ${value} < ${starts[last + 1]!}`;
    return sql`${from(isOpenAbove(this.#criteria.test))} AND ${value} >= ${starts[first]!} ${end}`;
  }

  /**
   * PERF: a date may last a day, so all dates of the day before a range may match. If they are a large part of the type, few of
   * them do match.
   */
  #scanOf(first: number, last: number): RangeReads['scans'][number] {
    const { key, test } = this.#values;
    return {
      scan: sql`SELECT ${key} FROM ${this.#valuesOf(first, last)} AND (${test})`,
      keep: (set) => {
        for (let granule = first; granule <= last; granule++) this.#scanned.set(granule, set);
      },
    };
  }

  /** @returns false if the granule was not scanned, or too many match */
  #addScanned(granule: number, sure: KeySet, failing: KeySet): boolean {
    const matches = this.#scanned.get(granule);
    if (matches === undefined) return false;
    for (const number of this.#numbersOf(granule)) (matches.has(number) ? sure : failing).add(number);
    return true;
  }

  /** @returns false if the granule was not tested */
  #addTested(granule: number, sure: KeySet, failing: KeySet): boolean {
    const text = this.#tested.get(granule);
    const numbers = text === undefined ? [] : this.#numbersOf(granule);
    if (text?.length !== numbers.length) return false;
    for (const [place, number] of this.#index.inKeyOrder(numbers).entries())
      (text[place] === '1' ? sure : failing).add(number);
    return true;
  }
}

function parameterOf(criteria: RangeCriteria): string {
  return criteria.kind === 'match' ? criteria.parameter : '_lastUpdated';
}
