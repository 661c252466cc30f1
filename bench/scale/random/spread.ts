import type { Draw } from './draw.js';

/** The distribution of the values of one search parameter over the resources of its type. */
export interface Spread {
  /** Number of different values. */
  readonly values: number;
  /** `few`: the first values are much more frequent. `mostly`: nearly all resources have the first value. */
  readonly skew: 'even' | 'few' | 'mostly';
  /** The correlation of larger values: with later or earlier resources, with later or earlier dates, or none. */
  readonly follows: 'nothing' | 'order' | 'reverse' | 'dates' | 'past';
  /** The distance of a value from its position under perfect correlation, from 0 to 1. */
  readonly noise: number;
  /** The share of resources without a value, from 0 to 1. */
  readonly missing: number;
  /** Whether the resources with the earliest dates have no value, or any resources. */
  readonly missingAtFirst: boolean;
  /** Most values of one resource. */
  readonly most: number;
  /** Number of code systems, units or forms of the values. */
  readonly variants: number;
}

/** The position of a resource among those of its type, from 0 to 1 each. */
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

/** The numbers of the values of one resource, without repetition; empty if it has no value. */
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

/** The share of the first value in a `mostly` distribution. */
const COMMON = 0.93;
