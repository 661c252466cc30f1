import { setImmediate as turn } from 'node:timers/promises';
import type { SortKey } from '../../../search/criteria/criteria.js';
import { LARGEST, SMALLEST } from '../../sql/extremes.js';
import { tablesOf, TABLE_NAMES, type ValueTable } from '../../sql/index-tables.js';
import { parameterKey, type RowScope } from '../../sql/rows.js';
import { setBytes } from '../../sql/skip/key-bytes.js';
import { KeySet } from '../../sql/skip/key-set.js';
import { sql, type Sql, type SqlValue } from '../../sql/sql.js';
import { arrayText } from '../array.js';
import { projectKey } from '../keys.js';
import type { Runner } from '../meta.js';
import { orderedRows, orderIndexOf, type SkipKey } from '../pages/order-index.js';
import { oneResourceOf } from '../pages/page-statement.js';
import { CUT } from '../pages/range-walk.js';
import { extremesOf, noValues, pairRows, type Values } from './layer-references.js';
import { numbers, numbersIn, type Row, textOf } from './number-texts.js';
import { OrderChange, type OrderEntry } from './order-change.js';
import { referenceKeyOf } from './reference-order.js';
import type { SkipIndex } from './skip-index.js';
import { orderNames } from './skip-rows.js';
import { rowsOfTokens, type TokenRow } from './token-rows.js';
import {
  BY_LARGEST,
  BY_SMALLEST,
  ORDER,
  PRESENCE,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipLayer,
  valueName,
} from './skip-row.js';

/** What a layer is made of. */
export interface LayerSource {
  readonly runner: Runner;
  readonly scope: RowScope;
  /** The layers below. */
  readonly below: SkipIndex;
  /** Their numbers that the layer does not take the place of. */
  readonly left: KeySet;
  /** The layer; the temporary table `fhirgraph_number` has its resources. */
  readonly layer: SkipLayer;
  /** Granules that become twice as large as others are divided. */
  readonly divides: boolean;
}

/**
 * Makes the rows of a layer without its mark, and without its keys: see skip-row.ts.
 *
 * PERF: the server finds the index rows of a resource one after the other, so a layer takes the time of its own resources,
 * wherever their values are.
 */
export class LayerBuilder {
  readonly #source: LayerSource;
  readonly #run: Runner['run'];
  /** The parameters of the type by their keys. */
  readonly #codes: ReadonlyMap<number, string>;

  constructor(source: LayerSource) {
    this.#source = source;
    this.#run = (statement) => source.runner.run(statement);
    const { scope } = source;
    const codes = [...scope.dialect.model.searchParameters(scope.type).keys()];
    this.#codes = new Map(codes.map((code) => [Number(parameterKey(scope, code)), code]));
  }

  async *rows(): AsyncGenerator<Row> {
    const { below } = this.#source;
    const known = await this.#known();
    const sorts = [...known.orders];
    await below.load(sorts.flatMap((sort) => orderNames(sort)));
    yield* this.#presence();
    yield* this.#tokens(known.sets);
    yield* this.#frequent(known.sets);
    for await (const [parameter, values] of this.#values(known.orders)) {
      yield* this.#order(parameter, values);
    }
    yield* this.#references(known.orders);
  }

  /** What the oldest layer has. */
  async #known(): Promise<{ readonly sets: ReadonlySet<string>; readonly orders: ReadonlySet<number> }> {
    const { project, type } = this.#source.scope;
    const rows = await this.#run(sql`SELECT s.sort, s.subject, s.value FROM fhirgraph_skip s
      WHERE s.project = ${projectKey(project)} AND s.type = ${type}
        AND (s.sort = ${SETS}::bigint AND s.value LIKE 'v%' OR s.subject = ${BY_SMALLEST}::bigint AND s.value = ${ORDER})`);
    const sets = new Set<string>();
    const orders = new Set<number>();
    for (const [sort, subject, value] of rows) {
      if (Number(sort) === SETS) sets.add(`${Number(subject)} ${String(value)}`);
      else orders.add(Number(sort));
    }
    return { sets, orders };
  }

  /** The sets of resources with values, and with several. */
  async *#presence(): AsyncGenerator<Row> {
    const { scope } = this.#source;
    const rows = await this.#run(sql`SELECT array_to_string(s.parameters, ','), m.data
      FROM (SELECT shape, ${NUMBERS} AS data FROM fhirgraph_number GROUP BY shape) m
      JOIN fhirgraph_shape s ON s.key = m.shape WHERE s.project = ${projectKey(scope.project)} AND s.type = ${scope.type}`);
    const sets = new Map<string, number[]>();
    const add = (name: string, own: Int32Array): void => {
      const list = sets.get(name) ?? [];
      sets.set(name, list);
      for (const number of own) list.push(number);
    };
    for (const [text, data] of rows as readonly (readonly [string, string])[]) {
      const own = numbersIn(data);
      for (const signed of text === '' ? [] : text.split(',').map(Number)) {
        add(`${Math.abs(signed)} ${PRESENCE}`, own);
        if (signed < 0) add(`${Math.abs(signed)} ${SEVERAL}`, own);
      }
    }
    for (const [name, list] of sets) {
      const [parameter, value] = name.split(' ') as [string, string];
      yield this.#set(Number(parameter), value, list);
    }
  }

  /** The sets of the codes that the oldest layer has, and of systems. */
  async *#tokens(known: ReadonlySet<string>): AsyncGenerator<Row> {
    const names = [...known].map((name) => [name.slice(0, name.indexOf(' ')), name.slice(name.indexOf(' ') + 2)]);
    const [subjects, codes] = [0, 1].map((index) => arrayText(names.map((name) => name[index]!)));
    for (const some of this.#together(this.#of('token'))) {
      const rows = await this.#run(sql`SELECT x.parameter, f.code, x.system, ${numbers(sql`m.n`)}
        FROM fhirgraph_number m ${this.#rowsOf('token', some, sql`w.code, w.system`, sql`w.grp = 0`)}
        LEFT JOIN unnest(${subjects!}::bigint[], ${codes!}::text[]) f(parameter, code) ON f.parameter = x.parameter AND f.code = x.code
        GROUP BY x.parameter, f.code, x.system`);
      for (const [parameter, own] of Map.groupBy(rows, ([one]) => Number(one))) {
        const tokens = own.map(([, ...row]) => row) as unknown as readonly TokenRow[];
        yield* rowsOfTokens(parameter, tokens, this.#source.layer);
      }
    }
  }

  /** The sets of units and targets that the oldest layer has. */
  async *#frequent(known: ReadonlySet<string>): AsyncGenerator<Row> {
    const found: readonly (readonly [ValueTable, Sql, Sql])[] = [
      ['quantity', sql`u.unit`, sql`u.unit IS NOT NULL`],
      ['reference', sql`w.target`, sql`TRUE`],
    ];
    for (const [table, value, where] of found) {
      const units = table === 'quantity' ? sql`CROSS JOIN LATERAL (VALUES (w.code), (w.unit)) u (unit)` : sql``;
      for (const some of this.#together(this.#of(table))) {
        const rows = await this.#run(sql`SELECT x.parameter, x.v::text, ${numbers(sql`m.n`)}
          FROM fhirgraph_number m ${this.#rowsOf(table, some, sql`${value} AS v`, sql`${where} AND w.grp = 0`, units)}
          GROUP BY x.parameter, x.v`);
        for (const [parameter, one, data] of rows as readonly (readonly [unknown, string, string])[]) {
          const name = valueName(one);
          if (known.has(`${Number(parameter)} ${name}`)) yield this.#set(Number(parameter), name, numbersIn(data));
        }
        await turn();
      }
    }
  }

  /** The parameters with rows in a table. */
  #of(table: ValueTable): readonly number[] {
    const { scope } = this.#source;
    const isIn = (code: string): boolean => tablesOf(scope.dialect.model, scope.type, code).includes(table);
    return [...this.#codes].filter(([, code]) => isIn(code)).map(([key]) => key);
  }

  /** Joins the rows `x` of a resource. PERF: OFFSET keeps the planner from reading those of others. */
  #rowsOf(table: ValueTable, parameters: readonly number[], columns: Sql, where: Sql, join = sql``): Sql {
    return sql`CROSS JOIN LATERAL (SELECT w.parameter, ${columns} FROM ${TABLE_NAMES[table]} w ${join}
      WHERE w.project = ${projectKey(this.#source.scope.project)} AND w.resource = m.resource
        AND w.parameter = ANY (${arrayText(parameters)}::bigint[]) AND ${where} OFFSET 0) x`;
  }

  /** The values by which resources are ordered, except references. */
  async *#values(orders: ReadonlySet<number>): AsyncGenerator<readonly [number, Values]> {
    for (const [table, parameters] of this.#ordered(orders)) {
      const { value, restriction, isNumber } = orderedRows(table);
      const isMarked = sql`${restriction} AND w.extreme & ${SMALLEST | LARGEST}::int <> 0`;
      for (const some of this.#together(parameters)) {
        const rows = await this.#run(sql`SELECT x.parameter, x.v, x.extreme, m.n FROM fhirgraph_number m
          ${this.#rowsOf(table, some, sql`${value} AS v, w.extreme & ${SMALLEST | LARGEST}::int AS extreme`, isMarked)}`);
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
      const own = this.#of(table).filter((key) => {
        const [first, other] = tablesOf(scope.dialect.model, scope.type, this.#codes.get(key)!);
        return first === table && other === undefined && orders.has(key);
      });
      if (own.length > 0) yield [table, own];
    }
  }

  /** The places of the layer's resources in an order. */
  async *#order(sort: number, values: Values): AsyncGenerator<Row> {
    const { below } = this.#source;
    const several = below.hasSeveral(sort) || values.several.length > 0;
    for (const subject of several ? [BY_SMALLEST, BY_LARGEST] : [BY_SMALLEST]) {
      const entries = subject === BY_LARGEST ? values.largest : values.smallest;
      const change = new OrderChange(below.orderView(sort, subject === BY_LARGEST)!, entries, this.#others(entries));
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

  /** Divides the granules that have become twice as large as others. */
  async #divide(change: OrderChange, sort: number, descending: boolean): Promise<void> {
    const { below, left } = this.#source;
    const { granule } = SKIP_TUNING;
    const view = below.orderView(sort, descending)!;
    for (const [place, added] of change.grown) {
      if (added + view.added[place]!.length <= granule) continue;
      const order = below.order(sort, descending)!;
      await below.load(order.rowsOf(place, place));
      const members = order.keysOf(place, left);
      if (members.length + added > 2 * granule) change.divide(place, await this.#valuesIn(sort, descending, members));
    }
  }

  /** The values of resources of other layers in an order. */
  async #valuesIn(sort: number, descending: boolean, members: readonly number[]): Promise<readonly OrderEntry[]> {
    const { below, scope } = this.#source;
    const key: SortKey = { parameter: this.#codes.get(sort) ?? nameOf(sort), descending };
    const { valueOf, isNumber, isCut } = (orderIndexOf(key, scope) ?? referenceKeyOf(key, scope)) as SkipKey;
    const rows = await this.#run(sql`SELECT k.n, ${valueOf} FROM (${below.keysWithNumbers(members)}) k (n, key)
      ${oneResourceOf(scope, sql`r0`, sql`k.key`)}`);
    return rows.map(([n, read]) => entryOf(Number(n), isCut ? cut(read as string) : read, isNumber));
  }

  /** The references, and the orders by them. */
  async *#references(orders: ReadonlySet<number>): AsyncGenerator<Row> {
    for (const some of this.#together(this.#of('reference'))) {
      const pairs = await this
        .#run(sql`SELECT x.parameter, m.n, encode(uuid_send(x.target), 'hex'), x.v FROM fhirgraph_number m
        ${this.#rowsOf('reference', some, sql`w.target, left(w.target_type || '/' || w.target_id, ${CUT}::int) AS v`, sql`w.grp = 0`)}`);
      const urls = await this.#run(sql`SELECT x.parameter, m.n, NULL, x.v FROM fhirgraph_number m
        ${this.#rowsOf('uri', some, sql`left(w.value, ${CUT}::int) AS v`, sql`w.grp = 0`)}`);
      const rows = [...pairs, ...urls] as unknown as readonly (readonly [unknown, unknown, string | null, string])[];
      const byParameter = Map.groupBy(rows, ([parameter]) => Number(parameter));
      for (const parameter of some) {
        const own = (byParameter.get(parameter) ?? []).map(([, n, target, text]) => [Number(n), target, text] as const);
        yield* pairRows(this.#source.layer, parameter, own);
        if (orders.has(parameter)) yield* this.#order(parameter, extremesOf(own));
        await turn();
      }
    }
  }

  /** A row with resources of the layer. */
  #set(subject: number, value: string, own: Iterable<number>): Row {
    const { first, size } = this.#source.layer;
    const set = new KeySet(0, size);
    for (const number of own) set.add(number - first);
    return { sort: SETS, subject, value, data: textOf(setBytes(set, new KeySet(0, size).fill())) };
  }

  /** Parameters that are read at once. */
  *#together(parameters: readonly number[]): Generator<readonly number[]> {
    const together = Math.max(1, Math.floor(MAX_VALUES / Math.max(1, this.#source.layer.size)));
    for (let start = 0; start < parameters.length; start += together) yield parameters.slice(start, start + together);
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

const NUMBERS = numbers(sql`n`);

/** Values that are read at once, about a hundred bytes each. */
const MAX_VALUES = 100_000;
