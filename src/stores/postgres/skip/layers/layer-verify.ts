import { partWith } from '../../../sql/pages/value-range.js';
import { isCurrent, type RowScope } from '../../../sql/rows.js';
import { readInto } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { sql, type Sql } from '../../../sql/sql.js';
import type { ValueGroups } from '../../../sql/skip/value-groups.js';
import type { Runner } from '../../rows/meta.js';
import { granuleLists } from '../format/granule-lists.js';
import { LayerBuilder } from './layer-build.js';
import { type GroupNumbers, groupNumbers } from './layer-groups.js';
import type { Row } from '../format/number-texts.js';
import { numberResources } from '../build/numbered-resources.js';
import { createSkipCache } from '../read/skip-cache.js';
import { SkipIndex } from '../read/skip-index.js';
import { groupsName, orderNames, type RowName } from '../read/skip-rows.js';
import { ofType } from '../read/skip-state.js';
import {
  BY_LARGEST,
  inSystemName,
  KEYS_IN_ROW,
  KEYS_TOGETHER,
  type LayerOrder,
  ORDER,
  SETS,
  type SkipHeader,
  systemsName,
  type SystemsOf,
  TARGETS,
  wholeName,
} from '../../rows/skip-row.js';
import { SortedKeys } from '../format/sorted-keys.js';
import { StoredReferences } from '../read/stored-references.js';

/**
 * Compares a skip index of several layers with the resources: makes one more layer of all resources, which must agree with the
 * stored layers.
 *
 * @returns the number of sets, granules and parameters of references that differ
 */
export async function countWrongLayerRows(runner: Runner, scope: RowScope, header: SkipHeader): Promise<number> {
  const run = (statement: Sql): ReturnType<Runner['run']> => runner.run(statement);
  const below = await SkipIndex.of(header, 0, scope, run, createSkipCache());
  const first = Math.ceil(below.size / KEYS_IN_ROW) * KEYS_IN_ROW;
  const all = sql`SELECT y.key, y.shape FROM resource y WHERE ${isCurrent({ ...scope, row: sql`y` })}`;
  const size = await numberResources(runner, all, first);
  const ranks = await ranksOf(runner, below, first, size);
  if (ranks === undefined) return 1;
  const layer = { mark: '', first, size };
  const left = below.emptySet();
  const checker = new Checker(below, ranks, first, size);
  for await (const row of new LayerBuilder({ runner, scope, below, left, layer, divides: false }).rows()) {
    await checker.check(row);
  }
  for await (const groups of groupNumbers(runner, scope)) await checker.checkGroups(groups);
  const names = await run(sql`SELECT s.subject, s.value FROM fhirgraph_skip s
    WHERE ${ofType(scope.project, scope.type)} AND s.sort = ${SETS}::bigint AND s.value ~ '^[psv]'`);
  return checker.end(
    names.map(([subject, value]) => ({ sort: SETS, subject: Number(subject), value: value as string })),
  );
}

/** For each number of the index, its rank among all resources. Undefined if the index does not have each resource once. */
async function ranksOf(runner: Runner, below: SkipIndex, first: number, size: number): Promise<Int32Array | undefined> {
  if (below.all.count !== size) return undefined;
  for (let from = first; from < first + size; from += KEYS_TOGETHER) {
    const to = Math.min(from + KEYS_TOGETHER, first + size);
    const [[text]] = (await runner.run(sql`SELECT encode(string_agg(uuid_send(resource), ''), 'base64')
      FROM fhirgraph_number WHERE n >= ${from}::int AND n < ${to}::int`)) as [[string]];
    const numbers = await below.placesOf(Buffer.from(text, 'base64'));
    if (numbers.filter((number) => below.all.has(number)).length !== to - from) return undefined;
  }
  await below.loadKeys();
  const ranks = new Int32Array(below.size).fill(-1);
  for (const [rank, number] of below.inKeyOrder(below.all.keys()).entries()) ranks[number] = rank;
  return ranks;
}

class Checker {
  readonly #below: SkipIndex;
  readonly #ranks: Int32Array;
  /** The numbers of the index, by rank. */
  readonly #numbers: Int32Array;
  readonly #first: number;
  readonly #size: number;
  /** The rows of references so far, by parameter and name. */
  readonly #references = new Map<string, Row>();
  readonly #sets = new Set<string>();
  #wrong = 0;

  constructor(below: SkipIndex, ranks: Int32Array, first: number, size: number) {
    this.#below = below;
    this.#ranks = ranks;
    this.#numbers = new Int32Array(size);
    for (const [number, rank] of ranks.entries()) if (rank >= 0) this.#numbers[rank] = number;
    this.#first = first;
    this.#size = size;
  }

  async check(row: Row): Promise<void> {
    if (row.sort === SETS && row.data.startsWith('{')) await this.#checkSystems(row);
    else if (row.sort === SETS) await this.#checkSet(row);
    else if (row.subject === TARGETS) this.#references.set(`${row.sort} ${row.value}`, row);
    else await this.#checkOrder(row);
  }

  /** @param names of the sets of the oldest layer */
  async end(names: readonly RowName[]): Promise<number> {
    for (const name of names) {
      if (this.#sets.has(`${name.subject} ${name.value}`)) continue;
      await this.#below.load([name]);
      if (this.#below.setOf(name.subject, name.value)!.count > 0) this.#wrong++;
    }
    const parameters = new Set([...this.#references.values()].map(({ sort }) => sort));
    for (const parameter of parameters) if (!(await this.#hasReferences(parameter))) this.#wrong++;
    return this.#wrong;
  }

  async #checkSet({ subject, value, data }: Row): Promise<void> {
    this.#sets.add(`${subject} ${value}`);
    await this.#below.load([{ sort: SETS, subject, value }]);
    const expected = new KeySet(0, this.#size);
    readInto(expected, Buffer.from(data, 'base64'), () => new KeySet(0, this.#size).fill());
    const stored = this.#below.setOf(subject, value)?.keys() ?? [];
    if (!isEqual(this.#ranksOf(stored), expected.keys())) this.#wrong++;
  }

  /** Checks the lists of systems; the sets of systems are checked like others. */
  async #checkSystems({ subject, value, data }: Row): Promise<void> {
    const { same, own, areMany } = JSON.parse(data) as SystemsOf;
    await this.#below.load([{ sort: SETS, subject, value }]);
    const stored = this.#below.systemsOf(subject, value);
    if (areMany === true || stored === undefined) return;
    const code = value === systemsName(undefined) ? undefined : value.slice(1);
    const systems = [...same, ...own, ...stored.same, ...stored.own];
    const names = [wholeName(code), ...systems.map((system) => inSystemName(system, code))];
    await this.#below.load(names.map((name) => ({ sort: SETS, subject, value: name })));
    const countOf = (name: string): number => this.#below.setOf(subject, name)?.count ?? 0;
    for (const system of new Set(systems)) {
      const count = countOf(inSystemName(system, code));
      if (same.includes(system) && count !== countOf(wholeName(code))) this.#wrong++;
      if (!same.includes(system) && (stored.same.includes(system) || (!own.includes(system) && count > 0)))
        this.#wrong++;
    }
  }

  async #checkOrder({ sort, subject, data }: Row): Promise<void> {
    const { several, cuts, lists } = JSON.parse(data) as LayerOrder;
    const descending = subject === BY_LARGEST;
    await this.#below.load(orderNames(sort));
    const order = this.#below.orders.of(sort, descending)!;
    await this.#below.load(order.rowsOf(0, order.starts.length));
    if (cuts.length > 0 || several !== this.#below.orders.hasSeveral(sort)) this.#wrong++;
    const expected = granuleLists(lists);
    for (let granule = 0; cuts.length === 0 && granule <= order.starts.length; granule++) {
      const stored = this.#ranksOf(order.keysOf(granule, this.#below.all));
      const numbers = (expected.get(granule) ?? []).map((number) => number - this.#first);
      if (!isEqual(stored, numbers)) this.#wrong++;
    }
  }

  /** Checks the orders of the groups with a code, of all layers. */
  async checkGroups({ sort, code, groups, values }: GroupNumbers): Promise<void> {
    const below = this.#below;
    await below.load([groupsName(sort, code)]);
    const oldest = below.orders.groups(sort, code)!;
    await below.load(oldest.rowsOf(0, oldest.starts.length));
    const later = new Map(below.orders.groupsOfLayers(sort, code).map(([{ mark }, order]) => [mark, order]));
    const orders = below.layers.map(({ mark }) => (mark === '' ? oldest : later.get(mark)));
    const expected = orders.map((order) => order?.starts.map(() => new Set<number>()));
    for (const [value, numbers] of values) {
      for (const number of numbers) {
        const stored = this.#numbers[number - this.#first]!;
        const layer = below.layers.findLastIndex(({ first }) => stored >= first);
        const order = orders[layer];
        if (order === undefined) this.#wrong++;
        else if (order.groups !== undefined) expected[layer]![partWith(order.starts, value)]?.add(stored);
      }
    }
    for (const [layer, granules = []] of expected.entries()) {
      for (const [granule, wanted] of granules.entries()) {
        const numbers =
          layer === 0
            ? oldest.keysOf(granule, below.all)
            : (later.get(below.layers[layer]!.mark)!.lists.get(granule) ?? []).filter((one) => below.all.has(one));
        if (!isEqual(Float64Array.from(numbers).sort(), Float64Array.from(wanted).sort())) this.#wrong++;
      }
    }
    const facts = orders.flatMap((order) => order?.groups ?? []);
    if (groups !== undefined && !areTrue(facts, groups)) this.#wrong++;
  }

  async #hasReferences(parameter: number): Promise<boolean> {
    const rows = [...this.#references.values()].filter(({ sort }) => sort === parameter);
    const bytesOf = (row: Row): Buffer => Buffer.from(row.data, 'base64');
    const keys = new SortedKeys(rows.filter(({ value }) => value.startsWith('k')).map(bytesOf));
    const pairs = rows.filter(({ value }) => value !== ORDER && !value.startsWith('k'));
    const expected = new StoredReferences(
      0,
      keys,
      new Map(pairs.map((row) => [Number(row.value), new Uint8Array(bytesOf(row))])),
    );
    const [wanted, found]: [number[], number[]] = [[], []];
    expected.eachPair((source, target) => wanted.push(source * keys.size + target));
    for (const own of await this.#below.references(parameter)) {
      const places = own.targets.placesIn(keys);
      own.eachPair((source, target) => {
        if (this.#below.all.has(source)) found.push(this.#ranks[source]! * keys.size + places[target]!);
      });
    }
    return isEqual(Float64Array.from(wanted).sort(), Float64Array.from(found).sort());
  }

  #ranksOf(numbers: readonly number[]): Int32Array {
    return Int32Array.from(numbers, (number) => this.#ranks[number]!).sort();
  }
}

/** Whether facts about the groups of each layer agree with those about all groups. Layers may also describe replaced resources. */
function areTrue(facts: readonly ValueGroups[], { system, units }: ValueGroups): boolean {
  const [first, ...others] = facts;
  if (first === undefined) return true;
  const claimed = first.units.filter((unit) => others.every((one) => one.units.includes(unit)));
  const isSystem = first.system === undefined || others.some((one) => one.system !== first.system);
  return claimed.every((unit) => units.includes(unit)) && (isSystem || first.system === system);
}

function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}
