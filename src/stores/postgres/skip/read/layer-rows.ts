import { setImmediate as turn } from 'node:timers/promises';
import { KEYS_IN_ROW as REFERENCES_IN_ROW } from '../../../sql/skip/references.js';
import type { Sql } from '../../../sql/sql.js';
import type { Run } from '../../database/run.js';
import type { SkipCache } from './skip-cache.js';
import { IDS, ORDER, type ReferencesHead, SETS, type SkipLayer, TARGETS } from '../../rows/skip-row.js';
import type { SortedKeys } from '../format/sorted-keys.js';
import { StoredReferences } from './stored-references.js';
import { StoredRows } from './stored-rows.js';

/** The keys and references of a layer. */
export class LayerRows implements SkipLayer {
  readonly mark: string;
  readonly first: number;
  readonly size: number;
  readonly #name: string;
  readonly #stored: StoredRows;
  readonly #cache: SkipCache;

  /**
   * @param id the id of the skip index
   * @param of the condition that a row `s` of the table belongs to the type
   */
  constructor({ mark, first, size }: SkipLayer, id: string, of: Sql, run: Run, cache: SkipCache) {
    this.mark = mark;
    this.first = first;
    this.size = size;
    this.#name = `${id} ${mark}`;
    this.#stored = new StoredRows(of, run, mark);
    this.#cache = cache;
  }

  /** The keys of all numbers. */
  keys(): Promise<SortedKeys> {
    return this.#kept('keys', () => this.#stored.keys(SETS, IDS, this.size));
  }

  /** The references of a parameter. */
  references(parameter: number): Promise<StoredReferences> {
    return this.#kept(`references ${parameter}`, async () => {
      const [[text] = []] = await this.#stored.named(parameter, TARGETS, [ORDER]);
      const { targets } = text === undefined ? { targets: 0 } : (JSON.parse(text) as ReferencesHead);
      const names =
        targets === 0 ? [] : Array.from({ length: Math.ceil(this.size / REFERENCES_IN_ROW) }, (_, row) => String(row));
      const rows = new Map<number, Uint8Array>();
      for await (const [data, value] of this.#stored.inParts(parameter, TARGETS, names)) {
        rows.set(Number(value), new Uint8Array(Buffer.from(data, 'base64')));
      }
      return new StoredReferences(this.first, await this.#stored.keys(parameter, TARGETS, targets), rows);
    });
  }

  /** For each target of references here, its number in the latest layer of another type that has it, or -1. */
  async numbersAmong(parameter: number, [oldest, ...later]: readonly LayerRows[]): Promise<Int32Array> {
    const first = await this.#numbersOfTargets(parameter, oldest!);
    if (later.length === 0) return first;
    const numbers = first.slice();
    for (const other of later) {
      const found = await this.#numbersOfTargets(parameter, other);
      for (let place = 0; place < found.length; place++) if (found[place]! >= 0) numbers[place] = found[place]!;
    }
    return numbers;
  }

  #numbersOfTargets(parameter: number, other: LayerRows): Promise<Int32Array> {
    return this.#kept(`numbers ${parameter} ${other.#name}`, async () => {
      const [{ targets }, keys] = [await this.references(parameter), await other.keys()];
      await turn();
      return targets.placesIn(keys).map((place) => (place < 0 ? place : other.first + place));
    });
  }

  async #kept<Value extends { readonly byteLength: number }>(name: string, read: () => Promise<Value>): Promise<Value> {
    const key = `${this.#name}${name}`;
    const known = this.#cache.get(key) as Value | undefined;
    if (known !== undefined) return known;
    const value = await read();
    this.#cache.set(key, value);
    return value;
  }
}
