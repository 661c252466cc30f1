import { KeySet } from './key-set.js';

// The stored form of a set of keys. Its first byte names the form:
//   LIST  the difference of each key to the one before, in groups of seven bits, the lowest first; the high bit of a byte
//         says that another one follows
//   BITS  the words of a KeySet
//   ALL   nothing: all resources of the type
const LIST = 0;
const BITS = 1;
const ALL = 2;

/** The maximum number of bytes of one difference. */
const BYTES_PER_KEY = 5;

/** @param keys in ascending order, each once */
export function listBytes(keys: ArrayLike<number>, first: number): Uint8Array {
  const bytes = new Uint8Array(1 + BYTES_PER_KEY * keys.length);
  bytes[0] = LIST;
  let length = 1;
  let previous = first;
  for (let index = 0; index < keys.length; index++) {
    let difference = keys[index]! - previous;
    previous = keys[index]!;
    for (; difference > 127; difference >>>= 7) bytes[length++] = (difference & 127) | 128;
    bytes[length++] = difference;
  }
  return bytes.slice(0, length);
}

/** The shorter of both forms. @param all every resource of the type */
export function setBytes(set: KeySet, all: KeySet): Uint8Array {
  const count = set.count;
  if (count === all.count) return Uint8Array.of(ALL);
  const bits = 1 + 4 * set.words.length;
  const list = count > bits ? undefined : listBytes(set.keys(), set.first);
  if (list !== undefined && list.length <= bits) return list;
  const bytes = new Uint8Array(bits);
  bytes[0] = BITS;
  bytes.set(new Uint8Array(set.words.buffer, set.words.byteOffset, set.words.byteLength), 1);
  return bytes;
}

/**
 * The keys of a list in ascending order; only those in `among` if it is given.
 *
 * PERF: a page may read the keys of all resources of a type, so this loop and the loop of {@link addList} make no
 * calls.
 */
export function readList(bytes: Uint8Array, first: number, among?: KeySet): number[] {
  const keys: number[] = [];
  // Every key is in the range of the set.
  const words = among?.words;
  const { length } = bytes;
  let place = 0;
  for (let index = 1; index < length;) {
    let byte = bytes[index++]!;
    place += byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[index++]!;
      place += (byte & 127) << shift;
    }
    if (words === undefined || (words[place >>> 5]! & (1 << (place & 31))) !== 0) keys.push(first + place);
  }
  return keys;
}

/** The smallest number of keys that a list of this length can have. */
export function leastInList({ length }: Uint8Array): number {
  return Math.ceil((length - 1) / BYTES_PER_KEY);
}

/** Adds the keys of a list to a set. */
export function addList({ words }: KeySet, bytes: Uint8Array): void {
  const { length } = bytes;
  let place = 0;
  for (let index = 1; index < length;) {
    let byte = bytes[index++]!;
    place += byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[index++]!;
      place += (byte & 127) << shift;
    }
    words[place >>> 5]! |= 1 << (place & 31);
  }
}

/** Packs several lists into one value: four bytes for the end of each list, then the lists. */
export function listsBytes(lists: readonly Uint8Array[]): Uint8Array {
  const start = 4 * lists.length;
  const bytes = new Uint8Array(lists.reduce((sum, { length }) => sum + length, start));
  const ends = new DataView(bytes.buffer);
  let end = start;
  for (const [index, list] of lists.entries()) {
    bytes.set(list, end);
    end += list.length;
    ends.setUint32(4 * index, end, true);
  }
  return bytes;
}

/** One of the packed lists. @param count how many lists there are */
export function listAt(bytes: Uint8Array, index: number, count: number): Uint8Array {
  const ends = new DataView(bytes.buffer, bytes.byteOffset);
  const start = index === 0 ? 4 * count : ends.getUint32(4 * (index - 1), true);
  return bytes.subarray(start, ends.getUint32(4 * index, true));
}

/** Adds stored keys to a set. */
export function readInto(set: KeySet, bytes: Uint8Array, all: () => KeySet): void {
  if (bytes[0] === ALL) set.unite(all());
  else if (bytes[0] === LIST) addList(set, bytes);
  else set.unite(new KeySet(set.first, set.size, new Uint32Array(new Uint8Array(bytes.subarray(1)).buffer)));
}

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
