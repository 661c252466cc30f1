import type { KeySet } from '../../sql/skip/key-set.js';
import { addSources, addTargets, KEYS_IN_ROW, type KeyTest, readReferences } from '../../sql/skip/references.js';
import type { SortedKeys } from './sorted-keys.js';

/** The references of a parameter: from the numbers of resources to the places of targets among their keys. */
export class StoredReferences {
  readonly targets: SortedKeys;
  readonly #rows: ReadonlyMap<number, ReturnType<typeof readReferences>>;

  /** @param rows the stored bytes by the number of the row, with memory of their own */
  constructor(targets: SortedKeys, rows: ReadonlyMap<number, Uint8Array>) {
    this.targets = targets;
    this.#rows = new Map([...rows].map(([row, bytes]) => [row, readReferences(bytes)]));
  }

  get byteLength(): number {
    let length = this.targets.byteLength;
    for (const { places, targets } of this.#rows.values()) length += places.byteLength + targets.byteLength;
    return length;
  }

  /** Adds the places of what some resources refer to. */
  addTargets(sources: KeySet, into: KeySet): void {
    for (const [row, references] of this.#rows) addTargets(references, row * KEYS_IN_ROW, sources, into);
  }

  /** Adds the numbers of the resources that refer to some places. */
  addSources(among: KeyTest, into: KeySet): void {
    for (const [row, references] of this.#rows) addSources(references, row * KEYS_IN_ROW, among, into);
  }
}
