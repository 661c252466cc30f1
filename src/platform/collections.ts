/**
 * The items in order, in steps. Equal items keep their order.
 *
 * @param first how many from the beginning are needed
 */
export function* sorting<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  { run, first = Infinity }: { readonly run: number; readonly first?: number | undefined },
): Generator<void, Item[]> {
  let runs: Item[][] = [];
  for (let start = 0; start < items.length; start += run) {
    yield;
    const sorted = items.slice(start, start + run).sort(compare);
    runs.push(first < sorted.length ? sorted.slice(0, first) : sorted);
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left, right] = [runs[index]!, runs[index + 1]];
      merged.push(right === undefined ? left : yield* merging(left, right, compare, { run, first }));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merging<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
  { run, first }: { readonly run: number; readonly first: number },
): Generator<void, Item[]> {
  const merged: Item[] = [];
  let [ofLeft, ofRight] = [0, 0];
  const length = Math.min(first, left.length + right.length);
  while (merged.length < length) {
    if (merged.length % run === 0) yield;
    const isLeft = ofRight === right.length || (ofLeft < left.length && compare(left[ofLeft]!, right[ofRight]!) <= 0);
    merged.push(isLeft ? left[ofLeft++]! : right[ofRight++]!);
  }
  return merged;
}

interface Entries<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** The value of a key, created on first use. */
export function getOrCreate<Key, Value>(map: Entries<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

/** Adds an item to the list of a key. */
export function pushTo<Key, Item>(lists: Entries<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/**
 * A function that computes its result once for each object, and keeps it as long as the object lives. For what derives from
 * the object alone, which nobody changes, or for the state that belongs to it.
 */
export function oncePer<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    let known = made.get(key);
    if (known === undefined) made.set(key, (known = { value: make(key) }));
    return known.value;
  };
}

/** The first place of a list for which a test fails, by halves. The test must hold for all places before it. */
export function firstPlace(length: number, isBefore: (place: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
