/** A set of the positions in a segment, one bit each. */
export class PositionSet {
  readonly words: Uint32Array;

  /** @param size positions of the segment */
  constructor(
    readonly size: number,
    words?: Uint32Array,
  ) {
    this.words = words ?? new Uint32Array((size + 31) >>> 5);
  }

  add(position: number): void {
    this.words[position >>> 5]! |= 1 << (position & 31);
  }

  delete(position: number): void {
    this.words[position >>> 5]! &= ~(1 << (position & 31));
  }

  has(position: number): boolean {
    return (this.words[position >>> 5]! & (1 << (position & 31))) !== 0;
  }

  /** Adds a part of a list. */
  addAll(positions: Uint16Array, from = 0, to = positions.length): void {
    const { words } = this;
    for (let index = from; index < to; index++) {
      const position = positions[index]!;
      words[position >>> 5]! |= 1 << (position & 31);
    }
  }

  /** Adds all positions. */
  fill(): this {
    this.words.fill(0xffff_ffff);
    const rest = this.size & 31;
    if (rest !== 0) this.words[this.words.length - 1] = (1 << rest) - 1;
    return this;
  }

  /** Keeps the positions that the other set has too. */
  intersect({ words }: PositionSet): this {
    const own = this.words;
    for (let index = 0; index < own.length; index++) own[index]! &= words[index]!;
    return this;
  }

  unite({ words }: PositionSet): this {
    const own = this.words;
    for (let index = 0; index < own.length; index++) own[index]! |= words[index]!;
    return this;
  }

  subtract({ words }: PositionSet): this {
    const own = this.words;
    for (let index = 0; index < own.length; index++) own[index]! &= ~words[index]!;
    return this;
  }

  copy(): PositionSet {
    return new PositionSet(this.size, this.words.slice());
  }

  emptyCopy(): PositionSet {
    return new PositionSet(this.size);
  }

  /** Whether the other set has all members. */
  isWithin({ words }: PositionSet): boolean {
    const own = this.words;
    for (let index = 0; index < own.length; index++) if ((own[index]! & ~words[index]!) !== 0) return false;
    return true;
  }

  /** The same members in a set of the first positions, which are all of them. */
  first(size: number): PositionSet {
    return new PositionSet(size, this.words.slice(0, (size + 31) >>> 5));
  }

  /** The places of the members among those of a larger set. */
  placesIn(all: PositionSet): PositionSet {
    const places = new PositionSet(all.count);
    for (const [place, position] of all.positions().entries()) if (this.has(position)) places.add(place);
    return places;
  }

  get isEmpty(): boolean {
    const { words } = this;
    for (let index = 0; index < words.length; index++) if (words[index] !== 0) return false;
    return true;
  }

  get count(): number {
    const { words } = this;
    let count = 0;
    for (let index = 0; index < words.length; index++) {
      let bits = words[index]!;
      if (bits === 0) continue;
      bits -= (bits >>> 1) & 0x5555_5555;
      bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
      count += (((bits + (bits >>> 4)) & 0x0f0f_0f0f) * 0x0101_0101) >>> 24;
    }
    return count;
  }

  /** In ascending order. */
  positions(): number[] {
    const { words } = this;
    const found: number[] = [];
    for (let index = 0; index < words.length; index++) {
      for (let bits = words[index]!; bits !== 0; bits &= bits - 1) {
        found.push(32 * index + (31 - Math.clz32(bits & -bits)));
      }
    }
    return found;
  }
}
