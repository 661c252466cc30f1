import type { Attributes, InstrumentOptions, Meter } from './observer.js';

/** A counter, or the sum and number of a histogram's values, since the counters were created. */
export interface Count {
  readonly name: string;
  /** In UCUM: `s`, `{call}`. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: Attributes;
  /** For a histogram, the sum of the recorded values. */
  readonly value: number;
  /** The number of additions or recorded values. */
  readonly times: number;
  /**
   * For a histogram with advised buckets: the number of values up to each bound, from the lowest bound to the highest.
   */
  readonly buckets?: readonly Bucket[] | undefined;
}

/** A bucket of a histogram, cumulative. */
export interface Bucket {
  /** The upper bound, inclusive. */
  readonly bound: number;
  readonly times: number;
}

/** A meter that keeps its counts for the host to fetch. */
export interface Counters extends Meter {
  /** The current counts, in the order of their first use. */
  snapshot(): readonly Count[];
}

/**
 * Counters for hosts without OpenTelemetry: pass them to {@link withTelemetry} as the meter, and export `snapshot()` in
 * the format of the host's monitoring. Their number is bounded by the number of resource types and error codes.
 *
 * @example
 * const counters = createCounters();
 * const store = withTelemetry(new MemoryStore(), { meter: counters });
 * counters.snapshot(); // [{ name: 'fhirgraph.store.calls', attributes: { … }, value: 12, … }]
 */
export function createCounters(): Counters {
  const counts = new Map<string, Counting>();
  const countOf = (
    name: string,
    options: InstrumentOptions,
    attributes: Attributes,
    bounds?: readonly number[],
  ): Counting => {
    const key = `${name} ${JSON.stringify(Object.entries(attributes).sort())}`;
    let counting = counts.get(key);
    if (counting === undefined) {
      const { unit = '', description = '' } = options;
      const buckets = bounds?.map((bound) => ({ bound, times: 0 }));
      counting = {
        name,
        unit,
        description,
        attributes: { ...attributes },
        value: 0,
        times: 0,
        ...(buckets && { buckets }),
      };
      counts.set(key, counting);
    }
    return counting;
  };
  return {
    createCounter: (name, options) => ({
      add: (value, attributes = {}) => add(countOf(name, options, attributes), value),
    }),
    createHistogram: (name, options) => ({
      record: (value, attributes = {}) => {
        const counting = countOf(name, options, attributes, options.advice?.explicitBucketBoundaries);
        add(counting, value);
        for (const bucket of counting.buckets ?? []) if (value <= bucket.bound) bucket.times += 1;
      },
    }),
    snapshot: () => [...counts.values()].map((one) => structuredClone(one)),
  };
}

/** A {@link Count} that is still counting. */
interface Counting extends Omit<Count, 'value' | 'times' | 'buckets'> {
  value: number;
  times: number;
  readonly buckets?: { readonly bound: number; times: number }[];
}

function add(counting: Counting, value: number): void {
  counting.value += value;
  counting.times += 1;
}
