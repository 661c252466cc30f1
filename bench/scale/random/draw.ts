/** Pseudorandom numbers, the same for the same seed. */
export class Draw {
  #state: number;

  constructor(...seed: readonly number[]) {
    this.#state = 0x9e3779b1;
    for (const part of seed) this.#state = Math.imul(this.#state ^ (part + 1), 0x85ebca6b) ^ (this.#state >>> 13);
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  oneOf<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const rest = [...items];
    return items.map(() => rest.splice(this.below(rest.length), 1)[0]!);
  }
}
