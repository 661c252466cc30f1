/** Generates numbers from 0 up to but not including 1, reproducible by seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

/** An integer from 0 up to but not including `end`. */
export function below(end: number, random: () => number): number {
  return Math.floor(random() * end);
}

/** One of the items. @throws RangeError - there are none. */
export function oneOf<Item>(items: readonly Item[], random: () => number): Item {
  if (items.length === 0) throw new RangeError('Nothing to choose from');
  return items[below(items.length, random)]!;
}

/** The result of one of the makers, or of the last one if the others were not chosen. */
export function someOf<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items.filter(() => random() < 0.5);
}
