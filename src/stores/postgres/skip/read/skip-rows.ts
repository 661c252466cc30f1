import { readInto } from '../../../sql/skip/key-bytes.js';
import { KeySet } from '../../../sql/skip/key-set.js';
import { type Sql, sql } from '../../../sql/sql.js';
import { arrayText } from '../../rows/array.js';
import type { Run } from '../../database/run.js';
import { ABSENT, type Kept, type SkipCache } from './skip-cache.js';
import {
  BY_LARGEST,
  BY_SMALLEST,
  GROUPS,
  type GroupsOrder,
  type LayerGroups,
  type LayerOrder,
  ORDER,
  PRESENCE,
  REPLACED,
  SETS,
  type SkipLayer,
  type SkipOrder,
  type SystemsOf,
  valueName,
} from '../../rows/skip-row.js';

/** A row of the table. */
export interface RowName {
  readonly sort: number;
  readonly subject: number;
  readonly value: string;
}

/** The row of the resources with a value. */
export function presenceName(parameter: number): RowName {
  return { sort: SETS, subject: parameter, value: PRESENCE };
}

/** The row that describes the groups with a code. @param value the component of the values */
export function groupsName(value: number, code: string): RowName {
  return { sort: value, subject: GROUPS, value: valueName(code) };
}

/** The rows that describe an order. */
export function orderNames(sort: number): readonly RowName[] {
  return [orderName(sort, BY_SMALLEST), orderName(sort, BY_LARGEST)];
}

/** The row that describes an order of smallest or of largest values. */
export function orderName(sort: number, subject: number): RowName {
  return { sort, subject, value: ORDER };
}

/** Reads and keeps rows of all layers of a skip index, and the values derived from them. */
export class SkipRows {
  readonly #id: string;
  readonly #layers: readonly SkipLayer[];
  readonly #of: Sql;
  readonly #run: Run;
  readonly #cache: SkipCache;
  readonly #rows = new Map<string, Kept>();

  /**
   * @param id the id of the skip index
   * @param of the condition that a row `s` of the table belongs to the type
   */
  constructor(id: string, layers: readonly SkipLayer[], of: Sql, run: Run, cache: SkipCache) {
    this.#id = id;
    this.#layers = layers;
    this.#of = of;
    this.#run = run;
    this.#cache = cache;
  }

  /** Reads the rows of all layers that are not cached. */
  async load(names: readonly RowName[]): Promise<void> {
    const lacking = new Map<string, RowName>();
    for (const name of names.flatMap((one) => this.#marked(one))) {
      const key = this.#keyOf(name);
      if (this.#rows.has(key)) continue;
      const kept = this.#cache.get(key);
      if (kept === undefined) lacking.set(key, name);
      else this.#rows.set(key, kept);
    }
    if (lacking.size === 0) return;
    const wanted = [...lacking.values()];
    const columns = (['sort', 'subject', 'value'] as const).map((name) => arrayText(wanted.map((one) => one[name])));
    const rows = await this.#run(sql`SELECT a.n, r.data
      FROM unnest(${columns[0]!}::bigint[], ${columns[1]!}::bigint[], ${columns[2]!}::text[]) WITH ORDINALITY a(sort, subject, value, n)
      CROSS JOIN LATERAL (SELECT s.data FROM fhirgraph_skip s WHERE ${this.#of} AND s.sort = a.sort AND s.subject = a.subject
        AND s.value = a.value OFFSET 0) r`);
    const found = new Map(rows.map(([n, data]) => [Number(n) - 1, data as string]));
    wanted.forEach((name, index) => {
      const text = found.get(index);
      this.#keep(name, text === undefined ? ABSENT : this.#read(name, text));
    });
  }

  /** A value derived from the rows of all layers, made once. */
  combined<Value extends Kept>(name: string, make: () => Value): Value {
    const key = `${this.#id} ${this.#layers.at(-1)!.mark}= ${name}`;
    const known = this.#cache.get(key) as Value | undefined;
    if (known !== undefined) return known;
    const value = make();
    this.#cache.set(key, value);
    return value;
  }

  /** The rows of all layers. Only the oldest layer has rows of granules. */
  #marked(name: RowName): readonly RowName[] {
    const isOfLayers = name.sort === SETS || name.value === ORDER || name.subject === GROUPS;
    if (this.#layers.length === 1 || !isOfLayers) return [name];
    return this.#layers.map(({ mark }) => ({ ...name, value: mark + name.value }));
  }

  /** A row. {@link load} it first. */
  row(name: RowName): Kept {
    const row = this.#rows.get(this.#keyOf(name));
    if (row === undefined) throw new Error('A row of a skip index was not loaded');
    return row;
  }

  #read({ sort, value }: RowName, text: string): Kept {
    // Base64 has no braces.
    if (text.startsWith('{')) return JSON.parse(text) as SkipOrder | GroupsOrder | LayerGroups | LayerOrder | SystemsOf;
    const bytes = Buffer.from(text, 'base64');
    if (sort !== SETS) return bytes;
    const layer = this.#layers.find(({ mark }) => mark !== '' && value.startsWith(mark)) ?? this.#layers[0]!;
    // A layer replaces numbers of the layers below.
    const size = value === layer.mark + REPLACED ? layer.first : layer.size;
    const set = new KeySet(0, size);
    readInto(set, bytes, () => new KeySet(0, size).fill());
    return set;
  }

  #keep(name: RowName, kept: Kept): void {
    const key = this.#keyOf(name);
    this.#rows.set(key, kept);
    this.#cache.set(key, kept);
  }

  #keyOf({ sort, subject, value }: RowName): string {
    return `${this.#id} ${sort} ${subject} ${value}`;
  }
}
