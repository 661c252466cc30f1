import type { KeySet } from './key-set.js';

// The references of one parameter from the resources in a range of keys, as pairs ordered by target and then by resource:
// first four bytes per pair for the key of the target, then two bytes per pair for the place of the resource in its range.

/** The number of resource keys whose references one row holds. */
export const KEYS_IN_ROW = 65_536;

/** Target keys from this number on do not fit into a row. */
export const MAX_TARGET = 2 ** 32;

export interface References {
  /** The resource of each pair, as its distance from the first key. */
  readonly places: Uint16Array;
  readonly targets: Uint32Array;
}

export interface KeyTest {
  has(key: number): boolean;
}

/** @param places distances from the first key of the row */
export function referenceBytes(places: readonly number[], targets: readonly number[]): Uint8Array {
  const pairs = Float64Array.from(places, (place, index) => targets[index]! * KEYS_IN_ROW + place).sort();
  const bytes = new Uint8Array(6 * pairs.length);
  const { places: ownPlaces, targets: ownTargets } = readReferences(bytes);
  for (const [index, pair] of pairs.entries()) {
    const place = pair % KEYS_IN_ROW;
    ownPlaces[index] = place;
    ownTargets[index] = (pair - place) / KEYS_IN_ROW;
  }
  return bytes;
}

/** @param bytes with memory of their own: a view into a longer buffer may be unaligned */
export function readReferences({ buffer, byteOffset, length }: Uint8Array): References {
  const count = length / 6;
  return {
    targets: new Uint32Array(buffer, byteOffset, count),
    places: new Uint16Array(buffer, byteOffset + 4 * count, count),
  };
}

/** Adds the targets of some resources. @param first the first key of the row */
export function addTargets({ places, targets }: References, first: number, sources: KeySet, into: KeySet): void {
  const { words } = sources;
  const offset = first - sources.first;
  for (let index = 0; index < places.length; index++) {
    const place = offset + places[index]!;
    if ((words[place >>> 5]! & (1 << (place & 31))) !== 0) into.add(targets[index]!);
  }
}

/** Adds the resources that refer to some targets. @param first the first key of the row */
export function addSources({ places, targets }: References, first: number, among: KeyTest, into: KeySet): void {
  const { words } = into;
  const offset = first - into.first;
  let [target, isAmong] = [-1, false];
  for (let index = 0; index < places.length; index++) {
    // PERF: neighbors often have the same target.
    if (targets[index] !== target) {
      target = targets[index]!;
      isAmong = among.has(target);
    }
    if (!isAmong) continue;
    const place = offset + places[index]!;
    words[place >>> 5]! |= 1 << (place & 31);
  }
}
