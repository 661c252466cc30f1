import type { LayerRows } from './layer-rows.js';
import type { SortedKeys } from '../format/sorted-keys.js';

/** The numbers of keys in each layer that has them. @param keys their bytes, one after the other */
export async function placesIn(layers: readonly LayerRows[], keys: Buffer): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (const { first, keys: own } of await withKeys(layers)) {
    own.eachPlace(keys, (place) => numbers.push(first + place));
  }
  return numbers;
}

/** The keys of each layer. */
export async function keysOfLayers(layers: readonly LayerRows[]): Promise<readonly SortedKeys[]> {
  return (await withKeys(layers)).map(({ keys }) => keys);
}

/** Some numbers in the order of their keys. */
export function inKeyOrder(
  layers: readonly LayerRows[],
  keys: readonly SortedKeys[],
  numbers: readonly number[],
): readonly number[] {
  const places = numbers.map((number) => {
    const layer = layers.findLastIndex(({ first }) => first <= number);
    return { number, keys: keys[layer]!, place: number - layers[layer]!.first };
  });
  places.sort((one, other) => one.keys.compare(one.place, other.keys, other.place));
  return places.map(({ number }) => number);
}

async function withKeys(
  layers: readonly LayerRows[],
): Promise<readonly { readonly first: number; readonly keys: SortedKeys }[]> {
  const found: { readonly first: number; readonly keys: SortedKeys }[] = [];
  for (const layer of layers) found.push({ first: layer.first, keys: await layer.keys() });
  return found;
}
