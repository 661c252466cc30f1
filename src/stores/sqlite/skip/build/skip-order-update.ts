import { tablesOf } from '../../../sql/index-tables.js';
import type { SqlValue } from '../../../sql/sql.js';
import { isBefore, partWith } from '../../../sql/pages/value-range.js';
import { factsOf, type ValueGroups } from '../../../sql/skip/value-groups.js';
import { isSame, listAt, listBytes, listsBytes, readList } from '../../../sql/skip/key-bytes.js';
import { granulesOf } from './granules.js';
import { groupKeys, groupKinds, groupValues, kindsOf } from './group-values.js';
import { BY_END, BY_LARGEST, GRANULES_IN_ROW, ORDER, type SkipOrder, type SkipRow } from '../../rows/skip-row.js';
import type { Written } from './written.js';

/** Updates the orders of a skip index. */
export class OrderUpdate {
  readonly #written: Written;
  /** Resources per granule. */
  readonly #granule: number;
  /** The id of the new header. */
  readonly #id: string;

  constructor(written: Written, granule: number, id: string) {
    this.#written = written;
    this.#granule = granule;
    this.#id = id;
  }

  /** The changed rows of an order; undefined if the order needs additional rows. */
  rows(sort: number, subject: number): readonly SkipRow[] | undefined {
    const order = JSON.parse(this.#written.read(sort, subject, ORDER) as string) as SkipOrder;
    const { parameter, several, groups } = order;
    if (groups !== undefined) return this.#groupRows(sort, subject, { ...order, groups });
    const [table] = tablesOf(this.#written.scope.dialect.model, this.#written.scope.type, parameter);
    const isByEnd = subject === BY_END;
    if (isByEnd && order.of !== this.#written.id) return undefined;
    if (!isByEnd && !several && sort > 0) {
      const others =
        table === 'reference' ? this.#written.severalTargets(parameter) : this.#written.severalOf(sort, table!);
      if (others.length > 0) return undefined;
    }
    const key = { parameter, descending: subject === BY_LARGEST };
    const valuesOf: ValuesOf = (keys) =>
      isByEnd ? this.#written.lastEnds(sort, table!, keys) : this.#written.values(key, keys);
    return this.#changedRows(sort, subject, isByEnd ? { ...order, of: this.#id } : order, valuesOf, isByEnd);
  }

  /** The changed rows of an order of groups; undefined if the order cannot have some of the written ones. */
  #groupRows(
    sort: number,
    subject: number,
    order: SkipOrder & { groups: ValueGroups },
  ): readonly SkipRow[] | undefined {
    const { scope, pending } = this.#written;
    const own = groupKeys(scope).find(({ value }) => value === sort);
    const { code } = order.groups;
    const kinds = own && kindsOf(this.#written.allOf(groupKinds(own, code, pending)));
    if (own === undefined || kinds === undefined) return undefined;
    const groups = factsOf(code, own.table, kinds, order.groups);
    const valuesOf: ValuesOf = (keys) => this.#written.allOf(groupValues(own, code, keys)) as [number, SqlValue][];
    return this.#changedRows(sort, subject, { ...order, groups }, valuesOf, true);
  }

  /**
   * @param order with the facts of today
   * @param isPartial whether the order leaves resources without a value out, and its first row always changes
   */
  #changedRows(
    sort: number,
    subject: number,
    order: SkipOrder,
    valuesOf: ValuesOf,
    isPartial: boolean,
  ): readonly SkipRow[] {
    const { starts, ties } = order;
    const stored = this.#storedRows(sort, subject, starts.length + 1);
    const lists = stored.flatMap((bytes, row) => {
      const count = Math.min(GRANULES_IN_ROW, starts.length + 1 - row * GRANULES_IN_ROW);
      return Array.from({ length: count }, (_, index) => listAt(bytes, index, count));
    });
    const parts = starts.map((start, index): Part => ({ start, isTie: false, bytes: lists[index]!, added: [] }));
    for (const tie of ties) parts[tie]!.isTie = true;
    const missing: Part = { start: null, isTie: true, bytes: lists.at(-1)!, added: [] };
    const places = [...starts];
    for (const [resource, value] of valuesOf(this.#written.pending)) {
      if (value !== null) partOf(parts, places, value).added.push(resource);
      else if (!isPartial) missing.added.push(resource);
    }
    const updatedPart = (part: Part, index: number): readonly Part[] =>
      this.#updated(part, (keys) => valuesOf(keys).filter(([, value]) => partWith(places, value) === index));
    const updated = [...parts.flatMap(updatedPart), this.#changedPart(missing)];
    const isSameOrder = updated.length === lists.length && parts.length === starts.length;
    const rows = rowsOf(updated.map(({ bytes }) => bytes));
    const changed = rows.flatMap((data, value): SkipRow[] =>
      stored[value] !== undefined && isSame(data, stored[value]) ? [] : [{ sort, subject, value, data }],
    );
    if (isSameOrder && !isPartial) return changed;
    const own = updated.slice(0, -1);
    const now: SkipOrder = {
      ...order,
      starts: own.map(({ start }) => start),
      ties: [...own.entries()].filter(([, { isTie }]) => isTie).map(([index]) => index),
    };
    return [{ sort, subject, value: ORDER, data: JSON.stringify(now) }, ...changed];
  }

  #storedRows(sort: number, subject: number, granules: number): readonly Uint8Array[] {
    const count = Math.ceil(granules / GRANULES_IN_ROW);
    return Array.from({ length: count }, (_, row) => this.#written.read(sort, subject, row) as Uint8Array);
  }

  /** A granule after its writes; several granules if it has grown. */
  #updated(part: Part, valuesOf: ValuesOf): readonly Part[] {
    const now = this.#changedPart(part);
    if (now === part || now.isTie) return [now];
    const keys = readList(now.bytes, this.#written.all.first);
    if (keys.length <= MAX_GRANULES * this.#granule) return [now];
    const rows = [...valuesOf(JSON.stringify(keys))].sort(([, a], [, b]) => (a === b ? 0 : isBefore(a, b) ? -1 : 1));
    const { starts, ties } = granulesOf(
      rows.map(([, value]) => value),
      this.#granule,
    );
    const own = starts.map((): number[] => []);
    for (const [resource, value] of rows) own[partWith(starts, value)]!.push(resource);
    return starts.map((start, index) => ({
      start,
      isTie: ties.includes(index),
      bytes: listBytes(Float64Array.from(new Set(own[index])).sort(), this.#written.all.first),
      added: [],
    }));
  }

  /** The same granule if none of its resources was written. */
  #changedPart(part: Part): Part {
    const { first } = this.#written.all;
    const { bytes, added } = part;
    if (added.length === 0 && readList(bytes, first, this.#written.changed).length === 0) return part;
    const kept = readList(bytes, first).filter((key) => !this.#written.changed.has(key));
    return { ...part, bytes: listBytes(Float64Array.from(new Set([...kept, ...added])).sort(), first) };
  }
}

/** The values of resources by a JSON list of their keys. */
type ValuesOf = (keys: string) => readonly (readonly [number, SqlValue])[];

/** A granule, and its resources that were written. */
interface Part {
  readonly start: SqlValue;
  isTie: boolean;
  readonly bytes: Uint8Array;
  readonly added: number[];
}

/** The granule of a value: a new one next to a granule of a single value. @param starts the first values of granules */
function partOf(parts: Part[], starts: SqlValue[], value: SqlValue): Part {
  const index = partWith(starts, value);
  const part = parts[index]!;
  if (!part.isTie || part.start === value) return part;
  const other: Part = { start: value, isTie: false, bytes: EMPTY, added: [] };
  const place = isBefore(value, part.start) ? index : index + 1;
  parts.splice(place, 0, other);
  starts.splice(place, 0, value);
  return other;
}

function rowsOf(lists: readonly Uint8Array[]): readonly Uint8Array[] {
  const rows: Uint8Array[] = [];
  for (let start = 0; start < lists.length; start += GRANULES_IN_ROW) {
    rows.push(listsBytes(lists.slice(start, start + GRANULES_IN_ROW)));
  }
  return rows;
}

const EMPTY = listBytes([], 0);

/** A granule is split when it has this many times its original size. */
const MAX_GRANULES = 4;
