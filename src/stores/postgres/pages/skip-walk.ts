import { type Condition, testsOf } from '../../sql/pages/condition.js';
import { isBefore } from '../../sql/pages/value-range.js';
import { type ConditionSet, intersection, type MemberCondition } from '../../sql/skip/condition-set.js';
import type { KeySet } from '../../sql/skip/key-set.js';
import { sql, type Sql, type SqlValue, TRUE, unionAll } from '../../sql/sql.js';
import type { Run } from '../database/run.js';
import type { ConditionSets } from '../skip/sets/condition-sets.js';
import { referenceKeyOf } from '../skip/build/reference-order.js';
import type { SkipOrderKeys } from '../skip/read/order-keys.js';
import type { SkipIndex } from '../skip/read/skip-index.js';
import { orderNames, presenceName } from '../skip/read/skip-rows.js';
import { collection } from './collection.js';
import { DenseGranules, pageOfGranule } from './granule-page.js';
import { type Batch, Gathered } from './gathered.js';
import { GranulesAhead, granulesFrom } from './granules-ahead.js';
import { orderIndexOf, type SkipKey } from '../scans/order-index.js';
import { type Asked, isDeep } from '../scans/page-statement.js';
import { append, CUT, type Finding, foundTexts } from '../scans/range-walk.js';
import { TUNING } from '../scans/tuning.js';
import { keysIn, matching, type Placed, placed, writtenKeys } from './written-keys.js';

/**
 * Finds a page among the resources that can meet all conditions, by the skip index: the sets of the conditions are
 * intersected, and the granules of the order are read one by one until the page is full. Statements look only at these
 * resources, and at those written since the index was built, which are put into the granules that they belong to now.
 */
export class SkipWalker {
  readonly #index: SkipIndex;
  readonly #sets: ConditionSets;
  readonly #run: Run;
  readonly #dense: DenseGranules;

  constructor(sets: ConditionSets, run: Run) {
    this.#index = sets.index;
    this.#sets = sets;
    this.#run = run;
    this.#dense = new DenseGranules(sets.index);
  }

  /**
   * Undefined if the index does not have the order, or has no set for any condition.
   *
   * @param index the index of the first key of the order
   */
  async walk(asked: Asked, index: SkipKey, conditions: readonly Condition[]): Promise<Skipping | undefined> {
    const sets = await this.#sets.prepare(conditions);
    const known = conditions.length === 0 ? { set: this.#index.all, exact: true } : intersection(sets);
    if (known === undefined || (known.exact ? asked.shown : asked.need) > TUNING.maxSkipped) return undefined;
    const order = await this.#orderOf(asked, index);
    if (order === undefined) return undefined;
    const find = async function* (this: SkipWalker): Finding {
      // PERF: conditions that most resources meet are tested at the page, and not for all written resources.
      const isTested = 2 * known.set.count < this.#index.size || (known.exact && isDeep(asked));
      const written = await writtenKeys(this.#index, asked, isTested ? testsOf(conditions) : undefined, this.#run);
      return yield* this.#find({ asked, index, order, conditions, written, isTested }, known);
    };
    return { finding: find.call(this), exact: known.exact, share: known.set.count / this.#index.all.count };
  }

  async #orderOf({ order, level }: Asked, { skip }: SkipKey): Promise<SkipOrderKeys | undefined> {
    await this.#index.load([presenceName(skip), ...orderNames(skip)]);
    const { descending } = order.keys[level]!;
    return this.#index.orders.of(skip, descending) ?? this.#index.orders.withoutValues(skip);
  }

  async *#find(part: Part, known: ConditionSet): Finding {
    const { asked, order } = part;
    const { need, shown } = asked;
    const tests = this.#testsOf(part.conditions);
    const isPassing = part.isTested && tests.length === 0 && isDeep(asked);
    const set = isPassing ? await this.#current(known.set) : known.set;
    const count = set.count;
    if (count <= (isPassing ? shown : need) + TUNING.fewTogether) {
      yield count;
      return this.#collected(part, tests, { numbers: set.keys(), keys: part.written }, need);
    }
    const places = Map.groupBy(await placed(part, this.#run), ({ granule }) => granule);
    const gathered = new Gathered(need, (batch, left) => this.#collected(part, tests, batch, left));
    const granules = granulesFrom(asked, order);
    const ahead = new GranulesAhead(this.#index, order, granules);
    const ties = new Set(order.ties);
    // Resources of the first granule may come before the position.
    let isPassed = isPassing && asked.place === undefined;
    for (const [position, granule] of granules.entries()) {
      // PERF: a page may come after a thousand granules without a match, so there is no wait between granules of one
      // row.
      if (ahead.lacks(position)) yield await ahead.load(position);
      const written = places.get(granule) ?? [];
      const members = this.#tied(part, granule, ties, set);
      // PERF: all resources of the granule match, and come before the page.
      isPassed &&= gathered.passes((members?.count ?? order.keysOf(granule, set).length) + written.length, shown);
      if (isPassed) continue;
      if (members !== undefined && members.count > gathered.left + TUNING.fewTogether) {
        await gathered.look();
        if (gathered.left > 0) {
          const value = order.starts[granule] ?? null;
          append(gathered.found, yield* this.#group(part, value, members, written, gathered.left));
        }
      } else {
        const numbers = members?.keys() ?? order.keysOf(granule, set);
        if (numbers.length >= TUNING.denseGranule && written.length === 0) {
          yield gathered.size + numbers.length;
          await gathered.look();
          if (gathered.left > 0) {
            append(gathered.found, await this.#ofGranule(part, tests, granule, numbers, gathered.left));
          }
        } else if (gathered.takes(numbers, written)) {
          yield gathered.size;
          await gathered.lookFurther();
        }
      }
      if (gathered.left <= 0) break;
    }
    if (gathered.left > 0) await gathered.look();
    return gathered.found;
  }

  /**
   * The members of a granule with one value or without values; undefined for other granules. PERF: most resources of a
   * type may have one value, so no numbers are listed.
   */
  #tied({ index, order }: Part, granule: number, ties: ReadonlySet<number>, set: KeySet): KeySet | undefined {
    const isTie = granule === order.starts.length || ties.has(granule);
    if (!isTie || isCutShort(index, order.starts[granule] ?? null)) return undefined;
    const members = this.#index.emptySet();
    order.addTo(members, granule);
    return members.intersect(set);
  }

  /** The set without the resources written since the index was built. */
  async #current(set: KeySet): Promise<KeySet> {
    const current = set.copy();
    for (const number of await this.#index.writtenNumbers()) current.delete(number);
    return current;
  }

  /** The matches among some resources, in order. */
  async #collected(
    part: Pick<Part, 'asked' | 'conditions' | 'isTested'>,
    tests: readonly Sql[],
    { numbers, keys }: Batch,
    need: number,
  ): Promise<readonly string[]> {
    const { asked } = part;
    const scans = [
      ...(numbers.length === 0 ? [] : [this.#index.keysOf(numbers)]),
      ...(keys.length === 0
        ? []
        : [part.isTested ? keysIn(keys) : matching(asked, keysIn(keys), testsOf(part.conditions))]),
    ];
    if (scans.length === 0) return [];
    const start = { scan: unionAll(scans), test: TRUE };
    const all = [...tests, sql`r0.content IS NOT NULL`];
    return foundTexts(await this.#run(collection({ ...asked, need }, [start], all, Infinity)), 1, asked.texts);
  }

  /** The matches among many resources of a granule, in order. */
  async #ofGranule(
    part: Part,
    tests: readonly Sql[],
    granule: number,
    numbers: readonly number[],
    need: number,
  ): Promise<readonly string[]> {
    const asked = { ...part.asked, need };
    const index = orderIndexOf(asked.order.keys[asked.level]!, asked.order.scope);
    const dense = index && (await this.#dense.partOf(part.order, granule, numbers));
    if (index !== undefined && dense !== undefined) {
      const rows = await this.#run(pageOfGranule(asked, index, this.#index, part.order, dense, tests));
      if (Number(rows[0]![0]) === dense.size) return foundTexts(rows, 1, asked.texts);
    }
    return this.#collected(part, tests, { numbers, keys: [] }, need);
  }

  /** The resources with one value, or without a value, in the order of the next key. */
  async *#group(part: Part, value: SqlValue, members: KeySet, written: readonly Placed[], need: number): Finding {
    const { asked } = part;
    const { keys, backwards } = asked.order;
    const falling = keys[asked.level]!.descending !== backwards;
    const ofValue = written.filter((one) => one.value === value).map(({ key }) => key);
    // A value written since may lie between this value and the start of the next granule, or below all granules.
    const isLess = (one: Placed): boolean => value !== null && one.value !== null && isBefore(one.value, value);
    const less = written.filter(isLess).map(({ key }) => key);
    const more = written.filter((one) => one.value !== value && !isLess(one)).map(({ key }) => key);
    const [first, last] = falling ? [more, less] : [less, more];
    const found = [...(await this.#collected(part, [], { numbers: [], keys: first }, need))];
    if (found.length < need && !isPast(value, asked.place?.values[0], falling)) {
      append(found, yield* this.#ofValue({ ...part, written: ofValue }, value, members, need - found.length));
    }
    if (found.length < need) {
      append(found, await this.#collected(part, [], { numbers: [], keys: last }, need - found.length));
    }
    return found;
  }

  async *#ofValue(
    { asked, conditions, written, isTested }: Part,
    value: SqlValue,
    members: KeySet,
    need: number,
  ): Finding {
    const { order, level, place } = asked;
    const isHere = place !== undefined && place.values[0] === value;
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    const next: Asked = { ...asked, level: level + 1, need, place: rest };
    const condition: MemberCondition = { test: TRUE, members };
    const all = [...conditions, condition];
    const key = order.keys[level + 1]!;
    const index = orderIndexOf(key, order.scope) ?? referenceKeyOf(key, order.scope);
    const [known] = await this.#sets.prepare([condition]);
    const ofNext = index && (await this.#orderOf(next, index));
    const tests = this.#testsOf(conditions);
    if (index === undefined || ofNext === undefined) {
      const all = { numbers: members.keys(), keys: written };
      return this.#collected({ asked: next, conditions, isTested }, tests, all, need);
    }
    return yield* this.#find({ asked: next, index, order: ofNext, conditions: all, written, isTested }, known!);
  }

  /** The tests of conditions that some members of the sets may fail. */
  #testsOf(conditions: readonly Condition[]): readonly Sql[] {
    return conditions.filter((one) => this.#sets.of(one)?.exact !== true).map(({ test }) => test);
  }
}

/** The search of a page by sets. */
export interface Skipping {
  readonly finding: Finding;
  /** True if all members of the sets match. */
  readonly exact: boolean;
  /** The share of the type's resources that are in the sets. */
  readonly share: number;
}

/** The part of the order to search: from one key on, after a position. */
interface Part {
  readonly asked: Asked;
  /** The index of that key. */
  readonly index: SkipKey;
  readonly order: SkipOrderKeys;
  readonly conditions: readonly Condition[];
  /** The keys of the resources written since the index was built. */
  readonly written: readonly string[];
  /** True if these resources are known to match. */
  readonly isTested: boolean;
}

/** True if all resources with the value of a granule come before the position. Its value was written since. */
function isPast(value: SqlValue, at: SqlValue | undefined, falling: boolean): boolean {
  if (value === null || at === null || at === undefined) return false;
  return falling ? isBefore(at, value) : isBefore(value, at);
}

/** True if the value may be the beginning of several values. */
function isCutShort({ isCut }: SkipKey, value: SqlValue): boolean {
  return isCut && value !== null && [...String(value)].length === CUT;
}
