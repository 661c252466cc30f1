import type { Observer } from '../telemetry/observer.js';

/** Counts cache hits and misses. */
export function countLookup(observer: Observer | undefined, cache: 'documents' | 'plans', hit: boolean): void {
  observer?.instruments?.lookups.add(1, { 'fhirgraph.cache': cache, 'fhirgraph.hit': hit });
}
