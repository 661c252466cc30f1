import { firstPlace } from '../../platform/collections.js';
import { compareOrders } from './value.js';
import type { PositionSet } from './position-set.js';
import { firstAbove, LARGEST, SIZES, SMALLEST } from './run-format.js';
import type { Run } from './segment.js';

/**
 * Visits the members of a set in the order of one part of a run, or in the reverse order. A resource with several values
 * is met at its smallest one, or at its largest if the sort is descending.
 */
export class RunCursor {
  /** The value of the current member; undefined after the last one. */
  value: string | number | undefined;
  readonly #mark: number;
  readonly #step: 1 | -1;
  readonly #size: number;
  #entry: number;

  /**
   * @param descending the direction of the sort key
   * @param reverse whether the run is read from its end
   * @param from the first value; undefined: all
   */
  constructor(
    readonly run: Run,
    readonly part: number,
    readonly set: PositionSet,
    descending: boolean,
    reverse: boolean,
    from: string | number | undefined,
  ) {
    this.#mark = descending ? LARGEST : SMALLEST;
    this.#step = reverse ? -1 : 1;
    const { size, marks } = run.directory.parts[part]!;
    this.#size = size;
    this.#entry = 0;
    if ((marks & this.#mark) === 0) return;
    if (from === undefined) this.#entry = reverse ? this.#size - 1 : 0;
    else this.#entry = this.#firstAt(from, reverse) - (reverse ? 1 : 0);
    this.#seek();
  }

  /** Adds the members with the current value to a set, and moves to the next value. */
  take(into: PositionSet): void {
    const { value } = this;
    while (this.value === value) {
      const start = this.#entry;
      const end = this.#endOfValue(start);
      const { positions, marks } = this.run.positions(this.part, start);
      for (let entry = start; entry !== end; entry += this.#step) {
        const position = positions[entry % SIZES.row]!;
        if ((marks[entry % SIZES.row]! & this.#mark) !== 0 && this.set.has(position)) into.add(position);
      }
      this.#entry = end;
      this.#seek();
    }
  }

  #seek(): void {
    const { words } = this.set;
    const mark = this.#mark;
    const step = this.#step;
    while (this.#entry >= 0 && this.#entry < this.#size) {
      const row = Math.floor(this.#entry / SIZES.row);
      if (this.#entry % SIZES.row === (step > 0 ? 0 : SIZES.row - 1)) this.#readAhead(row);
      const { positions, marks } = this.run.positions(this.part, this.#entry);
      // PERF (scale): this loop passes all members of a type in some milliseconds.
      for (let index = this.#entry % SIZES.row; index >= 0 && index < positions.length; index += step) {
        const position = positions[index]!;
        if ((words[position >>> 5]! & (1 << (position & 31))) === 0 || (marks[index]! & mark) === 0) continue;
        this.#entry = row * SIZES.row + index;
        this.value = this.run.valueAt(this.part, this.#entry);
        return;
      }
      this.#entry = step > 0 ? (row + 1) * SIZES.row : row * SIZES.row - 1;
    }
    this.value = undefined;
  }

  /** If a row must be read, those after it are probably needed, too. */
  #readAhead(row: number): void {
    if (!this.run.notePositions(this.part, row * SIZES.row)) return;
    for (let ahead = 1; ahead < this.run.segment.rows.ahead; ahead++) {
      const entry = (row + ahead * this.#step) * SIZES.row;
      if (entry >= 0 && entry < this.#size) this.run.notePositions(this.part, entry);
    }
  }

  /** The entry after the last one with the same value in the same block. */
  #endOfValue(entry: number): number {
    const block = Math.floor(entry / SIZES.block);
    const { lows, texts, ends } = this.run.values(this.part, block);
    const within = entry % SIZES.block;
    if (texts.length > 0) {
      const index = firstAbove(ends, within);
      const end = this.#step > 0 ? ends[index]! : (index === 0 ? 0 : ends[index - 1]!) - 1;
      return block * SIZES.block + end;
    }
    let end = within;
    while (end >= 0 && end < lows.length && lows[end] === lows[within]) end += this.#step;
    return block * SIZES.block + end;
  }

  /** The first entry with a value, or after it. */
  #firstAt(value: string | number, after: boolean): number {
    const { bounds, firsts } = this.run.directory.parts[this.part]!;
    const isInterval = bounds.length > 0;
    const isBefore = (one: string | number): boolean => compareOrders(one, value) < (after ? 1 : 0);
    const first = (place: number): string | number => (isInterval ? bounds[4 * place]! : firsts[place]!);
    const block = firstPlace(isInterval ? bounds.length / 4 : firsts.length, (place) => isBefore(first(place))) - 1;
    if (block < 0) return 0;
    const { lows, texts, ends } = this.run.values(this.part, block);
    if (isInterval) return block * SIZES.block + firstPlace(lows.length, (place) => isBefore(lows[place]!));
    const before = firstPlace(texts.length, (place) => isBefore(texts[place]!));
    return block * SIZES.block + (before === 0 ? 0 : ends[before - 1]!);
  }
}
