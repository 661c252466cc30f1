import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { FhirModel } from '../../../../fhir/model/fhir-model.js';
import { LARGEST, SMALLEST } from '../../../sql/extremes.js';
import { tablesOf } from '../../../sql/index-tables.js';
import { isCurrent, parameterKey, rowScope, type RowScope } from '../../../sql/rows.js';
import { setBytes } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { keptUnits } from '../../../sql/skip/unit-sets.js';
import { FALSE, type Sql, sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import { postgresDialect } from '../../rows/dialect.js';
import { projectKey } from '../../rows/keys.js';
import type { Runner } from '../../rows/meta.js';
import { type OrderIndex, orderIndexOf } from '../../scans/order-index.js';
import { granuleRows } from '../format/granule-rows.js';
import { longEnds, type MadeOrder } from './long-ends.js';
import { createMadeRows } from './made-rows.js';
import { numbers, numbersIn, textOf } from '../format/number-texts.js';
import { numbersOfNarrow } from './narrow-numbers.js';
import { numberResources, numbersByShape, parametersTogether, writeKeys } from './numbered-resources.js';
import { readGranules } from './read-granules.js';
import { referenceRows } from './reference-rows.js';
import { RowWriter } from './row-writer.js';
import { tokenRows } from './token-rows.js';
import { madeGroups } from './value-groups.js';
import { numbersByUnit, type UnitNumbers } from '../format/unit-numbers.js';
import {
  BY_END,
  BY_LARGEST,
  BY_SMALLEST,
  FORMAT,
  HEADER,
  IDS,
  PRESENCE,
  SETS,
  SEVERAL,
  SKIP_TUNING,
  type SkipHeader,
  valueName,
} from '../../rows/skip-row.js';

/** A type of a project, and the entry `index_epoch` of `fhirgraph_meta`. */
export interface SkippedType {
  readonly project: string;
  readonly type: string;
  readonly epoch: string;
}

/**
 * Makes the rows of the skip index of a type of a project, inside a transaction that sees one consistent state: see
 * skip-row.ts and made-rows.ts.
 *
 * PERF: the server gathers the numbers of resources, four bytes each, and this process turns them into lists and sets: 0.01 µs
 * per number, some milliseconds at a time.
 */
export async function buildSkipIndex(runner: Runner, model: FhirModel, type: SkippedType): Promise<void> {
  await new SkipBuilder(runner, model, type).build();
}

class SkipBuilder {
  readonly #runner: Runner;
  readonly #type: SkippedType;
  readonly #scope: RowScope;
  readonly #writer: RowWriter;
  #all = new KeySet(0, 0);

  constructor(runner: Runner, model: FhirModel, type: SkippedType) {
    this.#runner = runner;
    this.#type = type;
    this.#scope = rowScope({ project: type.project, dialect: postgresDialect(model) }, type.type);
    this.#writer = new RowWriter(runner, type);
  }

  async build(): Promise<void> {
    await createMadeRows(this.#runner);
    const { project, epoch } = this.#type;
    const resources = sql`SELECT y.key, y.shape FROM resource y WHERE ${isCurrent({ ...this.#scope, row: sql`y` })}`;
    const size = await numberResources(this.#runner, resources, 0);
    this.#all = new KeySet(0, size).fill();
    await writeKeys(this.#runner, this.#type, { mark: '', first: 0, size });
    const parameters = await this.#presence();
    for (const code of ['_id', '_lastUpdated', ...parameters.keys()]) await this.#order(code);
    await this.#values(parameters);
    await this.#groups();
    await this.#references(parameters);
    const header: SkipHeader = { format: FORMAT, id: randomUUID(), epoch, size, project, layers: [] };
    await this.#writer.add({ sort: SETS, subject: IDS, value: HEADER, data: JSON.stringify(header) });
    await this.#writer.flush();
  }

  /**
   * The sets of resources with values, also of narrow components, and with several values. Resources of one shape have
   * values of the same parameters.
   *
   * @returns the parameters with values, by code
   */
  async #presence(): Promise<ReadonlyMap<string, number>> {
    const sets = new Map<number, { readonly present: KeySet; readonly several: KeySet }>();
    for await (const { parameters, own } of numbersByShape(this.#runner, this.#type)) {
      for (const signed of parameters) {
        const parameter = Math.abs(signed);
        const { present, several } = sets.get(parameter) ?? { present: this.#emptySet(), several: this.#emptySet() };
        sets.set(parameter, { present, several });
        for (const number of own) present.add(number);
        if (signed < 0) for (const number of own) several.add(number);
      }
      await turn();
    }
    for (const [subject, { present, several }] of sets) {
      await this.#addSet(subject, PRESENCE, present);
      await this.#addSet(subject, SEVERAL, several);
    }
    for await (const { component, own } of numbersOfNarrow(this.#runner, this.#scope)) {
      await this.#addSet(component, PRESENCE, this.#setOf(own));
    }
    const codes = [...this.#scope.dialect.model.searchParameters(this.#type.type).keys()];
    return new Map(
      codes.flatMap((code) => {
        const key = parameterKey(this.#scope, code) as number | undefined;
        return key !== undefined && sets.has(key) ? [[code, key] as const] : [];
      }),
    );
  }

  async #order(parameter: string): Promise<void> {
    const index = orderIndexOf({ parameter, descending: false }, this.#scope);
    if (index === undefined || (await this.#lacks(index))) return;
    const falling = orderIndexOf({ parameter, descending: true }, this.#scope)!;
    const [row] =
      index.missing === undefined
        ? []
        : await this.#run(sql`SELECT 1 FROM ${falling.from} WHERE ${otherLargest(falling)} LIMIT 1`);
    const several = row !== undefined;
    const isMade = await this.#granules(index, BY_SMALLEST, several);
    if (several && isMade) await this.#granules(falling, BY_LARGEST, several);
    const ends = isMade ? await longEnds(parameter, this.#scope, (statement) => this.#run(statement)) : undefined;
    if (ends !== undefined) await this.#granules(ends, BY_END, false);
  }

  async #lacks({ lacks }: OrderIndex): Promise<boolean> {
    if (lacks === FALSE) return false;
    const [row] = await this.#run(sql`SELECT 1 WHERE ${lacks}`);
    return row !== undefined;
  }

  /** The granules of an order. @returns false if no resource has a value */
  async #granules(index: MadeOrder, subject: number, several: boolean): Promise<boolean> {
    const { from, where, key, value, isNumber } = index;
    const rows = sql`SELECT ${value} AS v, m.n FROM ${from} JOIN fhirgraph_number m ON m.resource = ${key} WHERE ${where}`;
    const granules = (await readGranules(this.#runner, rows, isNumber)).get(null) ?? [];
    if (granules.length === 0) return false;
    const order = { sort: index.skip, subject, several };
    // No search asks which resources an order by ends lacks.
    const all = subject === BY_END ? this.#emptySet() : this.#all;
    for await (const row of granuleRows(order, granules, all)) await this.#writer.add(row);
    return true;
  }

  /** The sets of frequent codes and targets, and of units. */
  async #values(parameters: ReadonlyMap<string, number>): Promise<void> {
    const project = projectKey(this.#type.project);
    const of = (table: string): readonly number[] =>
      [...parameters].filter(([code]) => this.#isIn(table, code)).map(([, key]) => key);
    for (const parameter of of('token')) {
      for await (const row of tokenRows(this.#runner, sql`${project}`, parameter, this.#all))
        await this.#writer.add(row);
    }
    for (const parameter of of('quantity')) await this.#units(parameter);
    await this.#targets(of('reference'));
  }

  async #units(parameter: number): Promise<void> {
    const rows = await this.#run(sql`SELECT x.system::text, x.code::text, x.unit::text, ${numbers(sql`m.n`)}
      FROM quantity x JOIN fhirgraph_number m ON m.resource = x.resource
      WHERE x.project = ${projectKey(this.#type.project)} AND x.parameter = ${parameter}::bigint AND x.grp = 0 AND x.system IS NOT NULL
      GROUP BY x.system, x.code, x.unit`);
    const units = rows as unknown as readonly UnitNumbers[];
    for (const [name, found] of await numbersByUnit(units, { first: 0, size: this.#all.size }, keptUnits)) {
      await this.#addSet(parameter, valueName(name), this.#setOf(found));
      await turn();
    }
  }

  /** The groups of composites with frequent codes. */
  async #groups(): Promise<void> {
    for await (const { granules, ...order } of madeGroups(this.#runner, this.#scope)) {
      const rows = granuleRows({ ...order, several: true }, granules, this.#emptySet());
      for await (const row of rows) await this.#writer.add(row);
    }
  }

  #isIn(table: string, code: string): boolean {
    return tablesOf(this.#scope.dialect.model, this.#type.type, code).some((one) => one === table);
  }

  async #references(parameters: ReadonlyMap<string, number>): Promise<void> {
    const keys = [...parameters].filter(([code]) => this.#isIn('reference', code)).map(([, key]) => key);
    const project = sql`${projectKey(this.#type.project)}`;
    const of = sql`${project}::uuid, ${this.#type.type}::text`;
    for (const some of this.#together(keys)) {
      for await (const row of referenceRows(this.#runner, project, of, some, this.#all)) {
        await this.#writer.add(row);
        await turn();
      }
    }
  }

  /** The sets of targets to which many resources refer. */
  async #targets(parameters: readonly number[]): Promise<void> {
    for (const some of this.#together(parameters)) {
      const rows = await this.#run(sql`SELECT x.parameter, x.target::text, ${NUMBERS} FROM reference x
        JOIN fhirgraph_number m ON m.resource = x.resource
        WHERE x.project = ${projectKey(this.#type.project)} AND x.grp = 0 AND x.parameter = ANY (${arrayText(some)}::bigint[])
        GROUP BY x.parameter, x.target HAVING count(*) >= ${SKIP_TUNING.minHolders}`);
      for (const [subject, target, data] of rows as readonly (readonly [unknown, string, string])[]) {
        await this.#addSet(Number(subject), valueName(target), this.#setOf(numbersIn(data)));
        await turn();
      }
    }
  }

  #together(parameters: readonly number[]): Generator<readonly number[]> {
    return parametersTogether(parameters, this.#all.size, MAX_NUMBERS);
  }

  #emptySet(): KeySet {
    return new KeySet(0, this.#all.size);
  }

  #setOf(numbers: Iterable<number>): KeySet {
    const set = this.#emptySet();
    for (const number of numbers) set.add(number);
    return set;
  }

  async #addSet(subject: number, value: string, set: KeySet): Promise<void> {
    await this.#writer.add({ sort: SETS, subject, value, data: textOf(setBytes(set, this.#all)) });
  }

  #run(statement: Sql): ReturnType<Runner['run']> {
    return this.#runner.run(statement);
  }
}

const NUMBERS = numbers(sql`n`);

/** Resources whose largest and smallest value differ. */
function otherLargest({ where }: Pick<OrderIndex, 'where'>): Sql {
  return sql`${where} AND w.extreme & ${SMALLEST | LARGEST}::int = ${LARGEST}::int`;
}

/** Maximum numbers that are read together, each about four bytes. */
const MAX_NUMBERS = 4_000_000;
