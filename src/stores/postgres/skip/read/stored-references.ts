import type { KeySet } from '../../../sql/skip/key-set.js';
import { KEYS_IN_ROW, readReferences } from '../../../sql/skip/references.js';
import type { SortedKeys } from '../format/sorted-keys.js';

/** The references of a parameter from a layer: from the numbers of resources to the places of targets among their keys. */
export class StoredReferences {
  readonly targets: SortedKeys;
  readonly #first: number;
  readonly #rows: ReadonlyMap<number, ReturnType<typeof readReferences>>;

  /**
   * @param first the number of the first resource
   * @param rows the stored bytes by the number of the row, with memory of their own
   */
  constructor(first: number, targets: SortedKeys, rows: ReadonlyMap<number, Uint8Array>) {
    this.#first = first;
    this.targets = targets;
    this.#rows = new Map([...rows].map(([row, bytes]) => [row, readReferences(bytes)]));
  }

  get byteLength(): number {
    let length = this.targets.byteLength;
    for (const { places, targets } of this.#rows.values()) length += places.byteLength + targets.byteLength;
    return length;
  }

  /** Calls back with each resource and the place of each of its targets. */
  eachPair(visit: (source: number, target: number) => void): void {
    for (const [row, { places, targets }] of this.#rows) {
      const first = this.#first + row * KEYS_IN_ROW;
      for (let index = 0; index < places.length; index++) visit(first + places[index]!, targets[index]!);
    }
  }

  /**
   * Adds the places of the targets of some resources. PERF: neither this nor the next method branches per reference:
   * the processor would predict every second branch wrong.
   */
  addTargets({ words: sources }: KeySet, { words: into }: KeySet): void {
    for (const [row, { places, targets }] of this.#rows) {
      const first = this.#first + row * KEYS_IN_ROW;
      for (let index = 0; index < places.length; index++) {
        const source = first + places[index]!;
        const target = targets[index]!;
        into[target >>> 5]! |= ((sources[source >>> 5]! >>> (source & 31)) & 1) << (target & 31);
      }
    }
  }

  /** Adds the numbers of the resources that refer to some places. */
  addSources({ words: among }: KeySet, { words: into }: KeySet): void {
    for (const [row, { places, targets }] of this.#rows) {
      const first = this.#first + row * KEYS_IN_ROW;
      for (let index = 0; index < places.length; index++) {
        const source = first + places[index]!;
        const target = targets[index]!;
        into[source >>> 5]! |= ((among[target >>> 5]! >>> (target & 31)) & 1) << (source & 31);
      }
    }
  }
}
