import type { PositionSet } from './position-set.js';
import type { Segment } from './segment.js';

/**
 * What is known of the matches in a segment: those that surely match, and those that may match or not. Every other
 * resource does not match. A resource in both is sure.
 */
export class Matches {
  constructor(
    readonly sure: PositionSet,
    readonly unsure: PositionSet,
  ) {}

  static none(segment: Segment): Matches {
    return new Matches(segment.emptySet(), segment.emptySet());
  }

  /** Whether every match is sure. */
  get isExact(): boolean {
    const { sure, unsure } = this;
    return unsure.words.every((word, index) => (word & ~sure.words[index]!) === 0);
  }

  /** The resources that match or may match. */
  get possible(): PositionSet {
    return this.sure.copy().unite(this.unsure);
  }

  unite({ sure, unsure }: Matches): void {
    this.sure.unite(sure);
    this.unsure.unite(unsure);
  }

  intersect(other: Matches): void {
    const possible = this.possible.intersect(other.possible);
    this.sure.intersect(other.sure);
    this.unsure.words.set(possible.words);
  }

  /** The matches of the negation. @param live the resources of the segment */
  negated(live: PositionSet): Matches {
    return new Matches(live.copy().subtract(this.possible), live.copy().intersect(this.unsure).subtract(this.sure));
  }

  /** Only among some resources. */
  among(live: PositionSet): this {
    this.sure.intersect(live);
    this.unsure.intersect(live);
    return this;
  }
}
