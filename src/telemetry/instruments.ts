import type { Counter, Histogram, Meter } from './telemetry.js';

/** The metrics. Names and units follow https://opentelemetry.io/docs/specs/semconv/general/metrics/. */
export interface Instruments {
  /** By `fhirgraph.interaction` and `fhirgraph.outcome`: `success` or the code of an error. */
  readonly interactions: Counter;
  /** In seconds, with the same attributes. */
  readonly duration: Histogram;
  /** By `db.operation.name`, `db.collection.name` (a resource type) and, for failed calls, `error.type`. */
  readonly storeCalls: Counter;
  /** Resources returned by the store, with the same attributes. */
  readonly storeRows: Counter;
  /** By `fhirgraph.cache` (`documents`, `plans`) and `fhirgraph.hit`. */
  readonly lookups: Counter;
}

/** The instruments of a meter; the same object for the same meter. */
export function createInstruments(meter: Meter): Instruments {
  let instruments = KNOWN.get(meter);
  if (instruments === undefined) {
    instruments = {
      interactions: meter.createCounter('fhirgraph.interactions', {
        description: 'Interactions that ended',
        unit: '{interaction}',
      }),
      duration: meter.createHistogram('fhirgraph.interaction.duration', {
        description: 'How long interactions took',
        unit: 's',
        // The default buckets of collectors are for milliseconds: all of ours would fall into the first.
        advice: { explicitBucketBoundaries: [...SECONDS] },
      }),
      storeCalls: meter.createCounter('fhirgraph.store.calls', {
        description: 'Calls to the store that ended',
        unit: '{call}',
      }),
      storeRows: meter.createCounter('fhirgraph.store.rows', {
        description: 'Resources that the store answered with',
        unit: '{resource}',
      }),
      lookups: meter.createCounter('fhirgraph.cache.lookups', {
        description: 'Documents and plans looked for in the caches',
        unit: '{lookup}',
      }),
    };
    KNOWN.set(meter, instruments);
  }
  return instruments;
}

/** From the read of a cached resource to a limit of time. */
const SECONDS = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const KNOWN = new WeakMap<Meter, Instruments>();
