import { listAt, listBytes, listsBytes, readList } from '../../../sql/skip/key-bytes.js';
import { textOf } from './number-texts.js';

/**
 * The lists of some granules as a text: four bytes for the length of the list of granules, that list, and their lists, all in
 * the forms of key-bytes.ts.
 *
 * @param lists numbers in ascending order, by granule
 */
export function granuleListsText(lists: ReadonlyMap<number, ArrayLike<number>>): string {
  const granules = [...lists.keys()].sort((a, b) => a - b);
  const names = listBytes(granules, 0);
  const packed = listsBytes(granules.map((granule) => listBytes(lists.get(granule)!, 0)));
  const bytes = new Uint8Array(4 + names.length + packed.length);
  new DataView(bytes.buffer).setUint32(0, names.length, true);
  bytes.set(names, 4);
  bytes.set(packed, 4 + names.length);
  return textOf(bytes);
}

export function granuleLists(text: string): ReadonlyMap<number, readonly number[]> {
  const bytes = Buffer.from(text, 'base64');
  const length = bytes.readUInt32LE(0);
  const granules = readList(bytes.subarray(4, 4 + length), 0);
  const packed = bytes.subarray(4 + length);
  return new Map(
    granules.map((granule, index) => [granule, readList(listAt(packed, index, granules.length), 0)] as const),
  );
}
