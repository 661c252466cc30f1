import type { Attributes, InstrumentOptions, Meter } from './telemetry.js';

/** A count, or the sum and number of what a histogram was given, since the counters were made. */
export interface Count {
  readonly name: string;
  /** In UCUM: `s`, `{call}`. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: Attributes;
  /** Of a histogram: the sum of what it recorded. */
  readonly value: number;
  /** How often it was added to or recorded. */
  readonly times: number;
}

/** A meter that keeps its counts for the host to fetch. */
export interface Counters extends Meter {
  /** All counts as they are now, in the order in which they first were counted. */
  snapshot(): readonly Count[];
}

/**
 * Counters for hosts without OpenTelemetry: give them to {@link withTelemetry} as its meter, and export `snapshot()` in
 * whatever form the host's monitoring reads. Their number is bounded by the resource types and error codes there are.
 *
 * @example
 * const counters = createCounters();
 * const store = withTelemetry(new MemoryStore(), { meter: counters });
 * counters.snapshot(); // [{ name: 'fhirgraph.store.calls', attributes: { … }, value: 12, … }]
 */
export function createCounters(): Counters {
  const counts = new Map<string, { -readonly [Name in keyof Count]: Count[Name] }>();
  const count = (name: string, options: InstrumentOptions, value: number, attributes: Attributes): void => {
    const key = `${name} ${JSON.stringify(Object.entries(attributes).sort())}`;
    const known = counts.get(key);
    if (known === undefined) {
      const { unit = '', description = '' } = options;
      counts.set(key, { name, unit, description, attributes: { ...attributes }, value, times: 1 });
    } else {
      known.value += value;
      known.times += 1;
    }
  };
  return {
    createCounter: (name, options) => ({ add: (value, attributes = {}) => count(name, options, value, attributes) }),
    createHistogram: (name, options) => ({
      record: (value, attributes = {}) => count(name, options, value, attributes),
    }),
    snapshot: () => [...counts.values()].map((one) => ({ ...one, attributes: { ...one.attributes } })),
  };
}
