/** Numbers that look random and are the same for the same seed, on every machine. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number, both ends included. */
  int(low: number, high: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** One item; the list must not be empty. */
  pick<Item>(items: readonly Item[]): Item;
  /** Some items, no one twice, in the order of the list. */
  some<Item>(items: readonly Item[], count: number): readonly Item[];
  /** Around a mean, rarely further away than three times the deviation; rounded to so many decimals. */
  around(mean: number, deviation: number, decimals?: number): number;
  /** Digits, the first of them possibly 0. */
  digits(count: number): string;
  uuid(): string;
}

/** @param seed different texts give unrelated numbers */
export function createRandom(seed: string): Random {
  const next = mulberry32(hash(seed));
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  const hex = (count: number): string => Array.from({ length: count }, () => int(0, 15).toString(16)).join('');
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)]!,
    some(items, count) {
      const chosen = new Set<number>();
      while (chosen.size < Math.min(count, items.length)) chosen.add(int(0, items.length - 1));
      return items.filter((_, index) => chosen.has(index));
    },
    around(mean, deviation, decimals = 0) {
      // Four uniform numbers added up come close enough to a normal distribution.
      const spread = (next() + next() + next() + next() - 2) * Math.sqrt(3);
      return Number((mean + spread * deviation).toFixed(decimals));
    },
    digits: (count) => Array.from({ length: count }, () => int(0, 9)).join(''),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${'89ab'[int(0, 3)]!}${hex(3)}-${hex(12)}`,
  };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}

/** A small public-domain generator; 32 bits of state are plenty for sample data. */
function mulberry32(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
