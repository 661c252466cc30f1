import type { Attributes, InstrumentOptions, Meter } from './telemetry.js';

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
