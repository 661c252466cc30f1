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

const KNOWN = new WeakMap<Meter, Instruments>();
