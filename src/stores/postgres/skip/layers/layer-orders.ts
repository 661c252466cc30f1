import { setImmediate as turn } from 'node:timers/promises';
import type { SortKey } from '../../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../../sql/extremes.js';
import { tablesOf, type ValueTable } from '../../../sql/index-tables.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { sql, type SqlValue } from '../../../sql/sql.js';
import type { Runner } from '../../rows/meta.js';
import { orderedRows, orderIndexOf, type SkipKey } from '../../scans/order-index.js';
import { oneResourceOf } from '../../scans/page-statement.js';
import { CUT } from '../../scans/range-walk.js';
import { noValues, type Values } from './layer-references.js';
import type { LayerSource, LayerTables } from './layer-tables.js';
import type { Row } from '../format/number-texts.js';
import { OrderChange, type OrderEntry } from './order-change.js';
import { referenceKeyOf } from '../build/reference-order.js';
import { BY_LARGEST, BY_SMALLEST, ORDER, SKIP_TUNING } from '../../rows/skip-row.js';

/** Places the resources of a layer in the orders of the oldest one, and divides the granules that grow. */
export class LayerOrders {
  readonly #source: LayerSource;
  readonly #tables: LayerTables;
  readonly #run: Runner['run'];

  constructor(source: LayerSource, tables: LayerTables) {
    this.#source = source;
    this.#tables = tables;
    this.#run = (statement) => source.runner.run(statement);
  }

  /** The values by which resources are ordered, except references. */
  async *values(orders: ReadonlySet<number>): AsyncGenerator<readonly [number, Values]> {
    for (const [table, parameters] of this.#ordered(orders)) {
      const { value, restriction, isNumber } = orderedRows(table);
      const isMarked = sql`${restriction} AND w.extreme & ${SMALLEST | LARGEST}::int <> 0`;
      for (const some of this.#tables.together(parameters)) {
        const rows = await this.#run(sql`SELECT x.parameter, x.v, x.extreme, m.n FROM fhirgraph_number m
          ${this.#tables.rowsOf(table, some, sql`${value} AS v, w.extreme & ${SMALLEST | LARGEST}::int AS extreme`, isMarked)}`);
        const found = new Map(some.map((one) => [one, noValues()]));
        for (const [parameter, read, extreme, n] of rows as readonly (readonly [
          unknown,
          SqlValue,
          unknown,
          unknown,
        ])[]) {
          const { smallest, largest, several } = found.get(Number(parameter))!;
          const entry = { number: Number(n), value: isNumber ? Number(read) : read };
          const marks = Number(extreme);
          if ((marks & SMALLEST) !== 0) smallest.push(entry);
          if ((marks & LARGEST) !== 0) largest.push(entry);
          if (marks === LARGEST) several.push(entry.number);
        }
        yield* found;
        await turn();
      }
    }
    for (const code of ['_id', '_lastUpdated']) {
      const { skip, isNumber, valueOf } = orderIndexOf({ parameter: code, descending: false }, this.#source.scope)!;
      const rows = await this.#run(sql`SELECT m.n, ${valueOf} FROM fhirgraph_number m
        ${oneResourceOf(this.#source.scope, sql`r0`, sql`m.resource`)}`);
      const entries = rows.map(([n, read]) => entryOf(Number(n), read, isNumber));
      yield [skip, { smallest: entries, largest: entries, several: [] }];
    }
  }

  /** The parameters with an order, by their tables. */
  *#ordered(orders: ReadonlySet<number>): Generator<readonly [Exclude<ValueTable, 'reference'>, readonly number[]]> {
    const { scope } = this.#source;
    for (const table of ['token', 'string', 'date', 'quantity', 'uri'] as const) {
      const own = this.#tables.of(table).filter((key) => {
        const [first, other] = tablesOf(scope.dialect.model, scope.type, this.#tables.codes.get(key)!);
        return first === table && other === undefined && orders.has(key);
      });
      if (own.length > 0) yield [table, own];
    }
  }

  /** The places of the layer's resources in an order. */
  async *order(sort: number, values: Values): AsyncGenerator<Row> {
    const { below } = this.#source;
    const several = below.orders.hasSeveral(sort) || values.several.length > 0;
    for (const subject of several ? [BY_SMALLEST, BY_LARGEST] : [BY_SMALLEST]) {
      const entries = subject === BY_LARGEST ? values.largest : values.smallest;
      const change = new OrderChange(below.orders.view(sort, subject === BY_LARGEST)!, entries, this.#others(entries));
      if (this.#source.divides) await this.#divide(change, sort, subject === BY_LARGEST);
      yield { sort, subject, value: ORDER, data: JSON.stringify(change.row(several)) };
    }
    await turn();
  }

  /** The layer's resources without a value. */
  #others(entries: readonly OrderEntry[]): readonly number[] {
    const { first, size } = this.#source.layer;
    const set = new KeySet(first, size).fill();
    for (const { number } of entries) set.delete(number);
    return set.keys();
  }

  /** Divides granules that have grown to twice the usual size. */
  async #divide(change: OrderChange, sort: number, descending: boolean): Promise<void> {
    const { below, left } = this.#source;
    const { granule } = SKIP_TUNING;
    const view = below.orders.view(sort, descending)!;
    for (const [place, added] of change.grown) {
      if (added + view.added[place]!.length <= granule) continue;
      const order = below.orders.of(sort, descending)!;
      await below.load(order.rowsOf(place, place));
      const members = order.keysOf(place, left);
      if (members.length + added > 2 * granule) change.divide(place, await this.#valuesIn(sort, descending, members));
    }
  }

  /** The values of resources of other layers in an order. */
  async #valuesIn(sort: number, descending: boolean, members: readonly number[]): Promise<readonly OrderEntry[]> {
    const { below, scope } = this.#source;
    const key: SortKey = { parameter: this.#tables.codes.get(sort) ?? nameOf(sort), descending };
    const { valueOf, isNumber, isCut } = (orderIndexOf(key, scope) ?? referenceKeyOf(key, scope)) as SkipKey;
    const rows = await this.#run(sql`SELECT k.n, ${valueOf} FROM (${below.keysWithNumbers(members)}) k (n, key)
      ${oneResourceOf(scope, sql`r0`, sql`k.key`)}`);
    return rows.map(([n, read]) => entryOf(Number(n), isCut ? cut(read as string) : read, isNumber));
  }
}

function entryOf(number: number, read: unknown, isNumber: boolean): OrderEntry {
  return { number, value: isNumber ? Number(read) : (read as string) };
}

function nameOf(sort: number): string {
  return sort === 1 ? '_id' : '_lastUpdated';
}

function cut(text: string): string {
  return [...text].slice(0, CUT).join('');
}
