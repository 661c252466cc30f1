import { setImmediate as turn } from 'node:timers/promises';
import { setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import type { Runner } from '../../rows/meta.js';
import { CUT } from '../../scans/range-walk.js';
import { LayerOrders } from './layer-orders.js';
import { extremesOf, pairRows } from './layer-references.js';
import { type LayerSource, LayerTables } from './layer-tables.js';
import { numbers, numbersIn, type Row, textOf } from '../format/number-texts.js';
import { numbersOfNarrow } from '../build/narrow-numbers.js';
import { numbersByShape } from '../build/numbered-resources.js';
import { orderNames } from '../read/skip-rows.js';
import { ofType } from '../read/skip-state.js';
import { BY_SMALLEST, ORDER, PRESENCE, SETS, SEVERAL, valueName } from '../../rows/skip-row.js';
import { rowsOfTokens, type TokenRow } from '../build/token-rows.js';
import { numbersByUnit, type UnitNumbers } from '../format/unit-numbers.js';

/** Makes the rows of a layer without its mark, and without its keys: see skip-row.ts. */
export class LayerBuilder {
  readonly #source: LayerSource;
  readonly #run: Runner['run'];
  readonly #tables: LayerTables;
  readonly #orders: LayerOrders;

  constructor(source: LayerSource) {
    this.#source = source;
    this.#run = (statement) => source.runner.run(statement);
    this.#tables = new LayerTables(source);
    this.#orders = new LayerOrders(source, this.#tables);
  }

  async *rows(): AsyncGenerator<Row> {
    const { below } = this.#source;
    const known = await this.#known();
    const sorts = [...known.orders];
    await below.load(sorts.flatMap((sort) => orderNames(sort)));
    yield* this.#presence();
    yield* this.#tokens(known.sets);
    yield* this.#targets(known.sets);
    yield* this.#units(known.sets);
    for await (const [parameter, values] of this.#orders.values(known.orders)) {
      yield* this.#orders.order(parameter, values);
    }
    yield* this.#references(known.orders);
  }

  /** The sets and orders of the oldest layer. */
  async #known(): Promise<{ readonly sets: ReadonlySet<string>; readonly orders: ReadonlySet<number> }> {
    const { project, type } = this.#source.scope;
    const rows = await this.#run(sql`SELECT s.sort, s.subject, s.value FROM fhirgraph_skip s
      WHERE ${ofType(project, type)} AND (s.sort = ${SETS}::bigint AND s.value LIKE 'v%' OR s.subject = ${BY_SMALLEST}::bigint AND s.value = ${ORDER})`);
    const sets = new Set<string>();
    const orders = new Set<number>();
    for (const [sort, subject, value] of rows) {
      if (Number(sort) === SETS) sets.add(`${Number(subject)} ${String(value)}`);
      else orders.add(Number(sort));
    }
    return { sets, orders };
  }

  /** The sets of resources with values, and with several values. */
  async *#presence(): AsyncGenerator<Row> {
    const sets = new Map<string, number[]>();
    const add = (name: string, own: Int32Array): void => {
      const list = sets.get(name) ?? [];
      sets.set(name, list);
      for (const number of own) list.push(number);
    };
    const { runner, scope } = this.#source;
    for await (const { parameters, own } of numbersByShape(runner, scope)) {
      for (const signed of parameters) {
        add(`${Math.abs(signed)} ${PRESENCE}`, own);
        if (signed < 0) add(`${Math.abs(signed)} ${SEVERAL}`, own);
      }
    }
    for (const [name, list] of sets) {
      const [parameter, value] = name.split(' ') as [string, string];
      yield this.#set(Number(parameter), value, list);
    }
    for await (const { component, own } of numbersOfNarrow(runner, scope)) yield this.#set(component, PRESENCE, own);
  }

  /** The sets of the codes that the oldest layer has, and of systems. */
  async *#tokens(known: ReadonlySet<string>): AsyncGenerator<Row> {
    const names = [...known].map((name) => [name.slice(0, name.indexOf(' ')), name.slice(name.indexOf(' ') + 2)]);
    const [subjects, codes] = [0, 1].map((index) => arrayText(names.map((name) => name[index]!)));
    for (const some of this.#tables.together(this.#tables.of('token'))) {
      const rows = await this.#run(sql`SELECT x.parameter, f.code, x.system, ${numbers(sql`m.n`)}
        FROM fhirgraph_number m ${this.#tables.rowsOf('token', some, sql`w.code, w.system`, sql`w.grp = 0`)}
        LEFT JOIN unnest(${subjects!}::bigint[], ${codes!}::text[]) f(parameter, code) ON f.parameter = x.parameter AND f.code = x.code
        GROUP BY x.parameter, f.code, x.system`);
      for (const [parameter, own] of Map.groupBy(rows, ([one]) => Number(one))) {
        const tokens = own.map(([, ...row]) => row) as unknown as readonly TokenRow[];
        yield* rowsOfTokens(parameter, tokens, this.#source.layer);
      }
    }
  }

  /** The sets of targets that the oldest layer has. */
  async *#targets(known: ReadonlySet<string>): AsyncGenerator<Row> {
    for (const some of this.#tables.together(this.#tables.of('reference'))) {
      const rows = await this.#run(sql`SELECT x.parameter, x.target::text, ${numbers(sql`m.n`)}
        FROM fhirgraph_number m ${this.#tables.rowsOf('reference', some, sql`w.target`, sql`w.grp = 0`)}
        GROUP BY x.parameter, x.target`);
      for (const [parameter, one, data] of rows as readonly (readonly [unknown, string, string])[]) {
        const name = valueName(one);
        if (known.has(`${Number(parameter)} ${name}`)) yield this.#set(Number(parameter), name, numbersIn(data));
      }
      await turn();
    }
  }

  /** The sets of units that the oldest layer has. */
  async *#units(known: ReadonlySet<string>): AsyncGenerator<Row> {
    for (const some of this.#tables.together(this.#tables.of('quantity'))) {
      const columns = sql`w.system, w.code, w.unit`;
      const rows = await this
        .#run(sql`SELECT x.parameter, x.system::text, x.code::text, x.unit::text, ${numbers(sql`m.n`)}
        FROM fhirgraph_number m ${this.#tables.rowsOf('quantity', some, columns, sql`w.grp = 0 AND w.system IS NOT NULL`)}
        GROUP BY x.parameter, x.system, x.code, x.unit`);
      for (const [parameter, own] of Map.groupBy(rows, ([one]) => Number(one))) {
        const units = own.map(([, ...row]) => row) as unknown as readonly UnitNumbers[];
        const isKnown = (name: string): boolean => known.has(`${parameter} ${valueName(name)}`);
        const keep = (all: ReadonlyMap<string, unknown>): readonly string[] => [...all.keys()].filter(isKnown);
        for (const [name, found] of await numbersByUnit(units, this.#source.layer, keep)) {
          if (isKnown(name)) yield this.#set(parameter, valueName(name), found);
        }
      }
    }
  }

  /** The references, and the orders by them. */
  async *#references(orders: ReadonlySet<number>): AsyncGenerator<Row> {
    for (const some of this.#tables.together(this.#tables.of('reference'))) {
      const pairs = await this
        .#run(sql`SELECT x.parameter, m.n, encode(uuid_send(x.target), 'hex'), x.v FROM fhirgraph_number m
        ${this.#tables.rowsOf('reference', some, sql`w.target, left(w.target_type || '/' || w.target_id, ${CUT}::int) AS v`, sql`w.grp = 0`)}`);
      const urls = await this.#run(sql`SELECT x.parameter, m.n, NULL, x.v FROM fhirgraph_number m
        ${this.#tables.rowsOf('uri', some, sql`left(w.value, ${CUT}::int) AS v`, sql`w.grp = 0`)}`);
      const rows = [...pairs, ...urls] as unknown as readonly (readonly [unknown, unknown, string | null, string])[];
      const byParameter = Map.groupBy(rows, ([parameter]) => Number(parameter));
      for (const parameter of some) {
        const own = (byParameter.get(parameter) ?? []).map(([, n, target, text]) => [Number(n), target, text] as const);
        yield* pairRows(this.#source.layer, parameter, own);
        if (orders.has(parameter)) yield* this.#orders.order(parameter, extremesOf(own));
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
}
