import type { Draw } from './draw.js';

/** How the values of one search parameter lie among the resources of its type. */
export interface Spread {
  /** How many values there are. */
  readonly values: number;
  /** `few`: the first values are much more frequent. `mostly`: nearly all resources have the first one. */
  readonly skew: 'even' | 'few' | 'mostly';
  /** What larger values go with: later resources, earlier ones, later dates, earlier ones, or nothing. */
  readonly follows: 'nothing' | 'order' | 'reverse' | 'dates' | 'past';
  /** How far a value is from where it would lie, from 0 to 1. */
  readonly noise: number;
  /** The part of the resources that has no value, from 0 to 1. */
  readonly missing: number;
  /** Whether those without a value are those of the first dates, or any. */
  readonly missingAtFirst: boolean;
  /** Values of one resource at most. */
  readonly most: number;
  /** How many code systems, units or forms the values have. */
  readonly variants: number;
}

/** Where a resource lies among those of its type, from 0 to 1 each. */
export interface Place {
  readonly order: number;
  readonly date: number;
}

export function randomSpread(draw: Draw, values: number, repeats: boolean): Spread {
  return {
    values,
    skew: draw.oneOf(['even', 'even', 'few', 'few', 'mostly']),
    follows: draw.oneOf(['nothing', 'nothing', 'nothing', 'order', 'reverse', 'dates', 'dates', 'past']),
    noise: draw.oneOf([0, 0.01, 0.1, 0.5]),
    missing: draw.oneOf([0, 0, 0, 0.02, 0.3, 0.7, 0.97, 1]),
    missingAtFirst: draw.isTrue(0.3),
    most: repeats ? draw.oneOf([1, 2, 4]) : 1,
    variants: draw.oneOf([1, 2, 3]),
  };
}

/** The numbers of the values of one resource, without repetition; none if it has no value. */
export function valuesAt(spread: Spread, place: Place, draw: Draw): readonly number[] {
  if ((spread.missingAtFirst ? place.date : draw.next()) < spread.missing) return [];
  const count = 1 + draw.below(spread.most);
  return [...new Set(Array.from({ length: count }, () => valueAt(spread, place, draw)))];
}

function valueAt({ values, skew, follows, noise }: Spread, place: Place, draw: Draw): number {
  const at = follows === 'nothing' ? draw.next() : between(positionOf(follows, place) + noise * (draw.next() - 0.5));
  return Math.min(values - 1, Math.floor(values * skewed(at, skew)));
}

function positionOf(follows: Exclude<Spread['follows'], 'nothing'>, { order, date }: Place): number {
  return { order, reverse: 1 - order, dates: date, past: 1 - date }[follows];
}

function skewed(at: number, skew: Spread['skew']): number {
  if (skew === 'even') return at;
  return skew === 'few' ? at ** 4 : Math.max(0, (at - COMMON) / (1 - COMMON));
}

function between(at: number): number {
  return Math.min(1 - 1e-9, Math.max(0, at));
}

/** The part that has the first value of those that nearly all have. */
const COMMON = 0.93;
