import { someOf } from './chance.js';

/** The stores of a test that FHIRGRAPH_STORES names (`memory,SQLite`), or all; in `npm test` the first. */
export function namedStores<Store extends readonly [name: string, ...rest: readonly unknown[]]>(
  stores: readonly Store[],
): readonly Store[] {
  const named = process.env['FHIRGRAPH_STORES']?.split(',');
  return named === undefined ? someOf(stores, 1) : stores.filter(([name]) => named.includes(name));
}
