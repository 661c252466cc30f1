import type { PositionSet } from './position-set.js';
import type { Segment } from './segment.js';

/**
 * What is known of the matches in a segment: those that surely match, and those that may match or not. Every other
 * resource does not match. A resource in both is sure.
 */
export class Matches {
  readonly sure: PositionSet;
  /** Created on first use: usually every match is sure. */
  #unsure: PositionSet | undefined;

  constructor(sure: PositionSet, unsure?: PositionSet) {
    this.sure = sure;
    this.#unsure = unsure;
  }

  static none(segment: Segment): Matches {
    return new Matches(segment.emptySet());
  }

  get unsure(): PositionSet {
    return (this.#unsure ??= this.sure.emptyCopy());
  }

  /** Whether every match is sure. */
  get isExact(): boolean {
    return this.#unsure?.isWithin(this.sure) ?? true;
  }

  /** The resources that match or may match. */
  get possible(): PositionSet {
    const possible = this.sure.copy();
    return this.#unsure === undefined ? possible : possible.unite(this.#unsure);
  }

  unite(other: Matches): void {
    this.sure.unite(other.sure);
    if (other.#unsure !== undefined) this.unsure.unite(other.#unsure);
  }

  /** Adds resources of which it is not known whether they match. */
  addUnsure(some: PositionSet): void {
    if (!some.isEmpty) this.unsure.unite(some);
  }

  intersect(other: Matches): void {
    const isExact = this.#unsure === undefined && other.#unsure === undefined;
    if (!isExact) this.#unsure = this.possible.intersect(other.possible);
    this.sure.intersect(other.sure);
  }

  /** The matches of the negation. @param live the resources of the segment */
  negated(live: PositionSet): Matches {
    const unsure = this.#unsure && live.copy().intersect(this.#unsure).subtract(this.sure);
    return new Matches(live.copy().subtract(this.possible), unsure);
  }

  /** Only among some resources. */
  among(live: PositionSet): this {
    this.sure.intersect(live);
    this.#unsure?.intersect(live);
    return this;
  }
}
