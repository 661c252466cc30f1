import type { Observer } from '../telemetry/observer.js';

/** Counts whether a cache had what it was asked for. */
export function countLookup(observer: Observer | undefined, cache: 'documents' | 'plans', hit: boolean): void {
  observer?.instruments?.lookups.add(1, { 'fhirgraph.cache': cache, 'fhirgraph.hit': hit });
}
