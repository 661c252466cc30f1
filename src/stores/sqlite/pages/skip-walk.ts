import type { Condition } from '../../sql/pages/condition.js';
import type { FoundRow } from './found-row.js';
import type { PageOrder } from '../../sql/pages/page-order.js';
import { isBefore, partWith } from '../../sql/pages/value-range.js';
import { orderTerms } from '../../sql/order.js';
import { allOf, type Sql, sql, type SqlValue } from '../../sql/sql.js';
import { intersection, type MemberCondition } from '../../sql/skip/condition-set.js';
import type { ConditionSets } from '../skip/sets/condition-sets.js';
import type { SkipIndex, SkipOrderKeys } from '../skip/read/skip-index.js';
import type { Statements } from '../database/statements.js';
import { collection } from './collection.js';
import type { Asked, Finding } from './finding.js';
import { inOrder, sortedRows } from './sorted-rows.js';
import { TUNING } from '../scans/tuning.js';

/**
 * Finds a page among the resources that can meet all conditions, by the skip index: the sets of the conditions are
 * intersected, and the granules of the order are read one by one until the page is full. Statements look only at these
 * resources, and at those written since the index was built.
 */
export class SkipWalker {
  readonly #index: SkipIndex;
  readonly #sets: ConditionSets;
  readonly #statements: Statements;
  readonly #order: PageOrder;

  constructor(sets: ConditionSets, statements: Statements, order: PageOrder) {
    this.#index = sets.index;
    this.#sets = sets;
    this.#statements = statements;
    this.#order = order;
  }

  /** Undefined if the index does not have the order of the key. */
  walk(asked: Asked): Finding | undefined {
    // Without a limit there is no page to fill.
    if (asked.need === Infinity) return undefined;
    const keys = this.#index.order(this.#order.keys[asked.level]!, this.#order.scope);
    return keys && this.#find(keys, asked);
  }

  /**
   * Replaces conditions by a list of the resources that can meet them all, and the conditions that must still be tested. For an
   * order that the index does not have. Undefined if the list is long.
   */
  among(conditions: readonly Condition[]): readonly Condition[] | undefined {
    const known = intersection(conditions.map((one) => this.#sets.of(one)));
    if (known === undefined) return undefined;
    const { set } = known;
    const { pending } = this.#index;
    for (const key of pending) set.delete(key);
    if (set.count + pending.length > TUNING.maxAmong) return undefined;
    const keys = [...set.keys(), ...this.#writtenAmong(conditions)];
    const list = sql`SELECT value FROM json_each(${JSON.stringify(keys)})`;
    const tested = conditions.filter((one) => this.#sets.of(one)?.exact !== true);
    return [{ scan: list, test: sql`r0.key IN (${list})`, direct: true }, ...tested];
  }

  /** The matches among the resources written since. */
  #writtenAmong(conditions: readonly Condition[]): readonly number[] {
    const { pending } = this.#index;
    if (pending.length === 0) return [];
    const tests = [this.#isCurrent, ...conditions.map(({ test }) => test)];
    return this.#statements.column(sql`SELECT r0.key FROM json_each(${JSON.stringify(pending)}) j
      CROSS JOIN resource r0 ON r0.key = j.value WHERE ${allOf(tests)}`) as readonly number[];
  }

  /** PERF: the plus keeps SQLite from reading all resources of the type. */
  get #isCurrent(): Sql {
    return sql`+r0.collection = ${this.#order.scope.collection!} AND +r0.content IS NOT NULL`;
  }

  *#find(keys: SkipOrderKeys, asked: Asked): Finding {
    const { need } = asked;
    const { pending } = this.#index;
    const known = intersection(asked.conditions.map((one) => this.#sets.of(one)));
    const set = known?.set ?? this.#index.all.copy();
    for (const key of pending) set.delete(key);
    yield TUNING.setsCost + pending.length;
    const written = this.#rows(pending, asked);
    const count = set.count;
    if (count <= need + TUNING.fewTogether) {
      yield count;
      return this.#merged(this.#membersAmong(set.keys(), asked), written, asked);
    }
    const found: FoundRow[] = [];
    let batch: number[] = [];
    let wanted = Math.min(need + TUNING.firstChunk, TUNING.maxChunk);
    const left = (): Asked => ({ ...asked, need: need - found.length });
    const flush = (): void => {
      const rows = batch.length === 0 ? [] : this.#membersAmong(batch, left());
      for (const row of rows) found.push(row);
      batch = [];
    };
    for (const granule of this.#granules(keys, asked)) {
      const matching = keys.keysOf(granule, set);
      yield GRANULE_COST;
      const { starts, ties } = keys;
      if (matching.length > need + TUNING.fewTogether && (granule === starts.length || ties.includes(granule))) {
        flush();
        if (found.length >= need) break;
        const value = starts[granule] ?? null;
        for (const row of yield* this.#group(value, matching, left())) found.push(row);
      } else {
        for (const key of matching) batch.push(key);
        if (batch.length < wanted) continue;
        yield batch.length;
        flush();
        wanted = Math.min(2 * wanted, TUNING.maxChunk);
      }
      if (found.length >= need) break;
    }
    flush();
    return this.#merged(found, written, asked);
  }

  /** The granules from a position on, in the order of the page. */
  #granules({ starts, ties }: SkipOrderKeys, { level, place }: Asked): readonly number[] {
    const { keys, backwards } = this.#order;
    const granules = [...starts.keys()];
    const falling = keys[level]!.descending !== backwards;
    if (falling) granules.reverse();
    const missing = starts.length;
    const all = backwards ? [missing, ...granules] : [...granules, missing];
    const at = place?.values[0];
    if (at === undefined) return all;
    const granule = at === null ? missing : partWith(starts, at);
    const start = starts[granule];
    // The resource of the position may have been written since; the whole granule may then be on the other side.
    const [low, high] = falling ? [at, start] : [start, at];
    const isPast = ties.includes(granule) && low != null && high != null && isBefore(low, high);
    return all.slice(all.indexOf(granule) + (isPast ? 1 : 0));
  }

  /** The resources with one value, or without a value, in the order of the next key. */
  *#group(value: SqlValue, matching: readonly number[], { level, conditions, need, place }: Asked): Finding {
    const { keys, scope } = this.#order;
    const [term] = orderTerms(keys.slice(level, level + 1), scope);
    const members = this.#index.emptySet();
    for (const key of matching) members.add(key);
    const condition: MemberCondition = { test: sql`${term!.value} IS ${value}`, members };
    const isHere = place !== undefined && place.values[0] === value;
    const rest = isHere ? { values: place.values.slice(1), id: place.id } : undefined;
    const all = [...conditions, condition];
    const next = this.#index.order(keys[level + 1]!, scope);
    const asked: Asked = { level: level + 1, conditions: all, need, place: rest };
    const rows = next === undefined ? this.#all(matching, asked) : yield* this.#find(next, asked);
    return rows.map((row) => ({ ...row, values: [value, ...row.values] }));
  }

  #all(matching: readonly number[], asked: Asked): readonly FoundRow[] {
    const written = this.#rows(this.#index.pending, asked);
    return this.#merged(this.#membersAmong(matching, asked), written, asked);
  }

  /** The matches among members of the sets, in order. */
  #membersAmong(keys: readonly number[], asked: Asked): readonly FoundRow[] {
    const conditions = asked.conditions.filter((one) => this.#sets.of(one)?.exact !== true);
    return this.#rows(keys, { ...asked, conditions });
  }

  /** The matches among some resources, in order. */
  #rows(keys: readonly number[], asked: Asked): readonly FoundRow[] {
    if (keys.length === 0) return [];
    const scan = sql`SELECT value FROM json_each(${JSON.stringify(keys)})`;
    const tests = [this.#isCurrent, ...asked.conditions.map(({ test }) => test)];
    const statement = collection(this.#order, asked, scan, tests);
    return sortedRows(statement, this.#statements, this.#order, asked, this.#index);
  }

  /** Adds the resources written since, which can also be in the sets as members of a group. */
  #merged(found: readonly FoundRow[], written: readonly FoundRow[], asked: Asked): readonly FoundRow[] {
    if (written.length === 0) return found.slice(0, asked.need);
    const byId = new Map([...found, ...written].map((row) => [row.id, row]));
    return inOrder([...byId.values()], this.#order, asked, this.#index);
  }
}

/** The cost of a granule, in rows. */
const GRANULE_COST = 4;
