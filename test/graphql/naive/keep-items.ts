import { R4 } from '../../../src/store.js';
import { fhirpathFilter } from '../../../src/fhirpath/compile.js';
import type { Arguments, JsonObject } from './resolvers.js';

/** The items of an element that its arguments select. */
export function keepItems(
  items: readonly JsonObject[],
  type: string,
  args: Arguments,
  resource: JsonObject,
): unknown[] {
  const { fhirpath, _offset, _count, ...equal } = args;
  let kept = [...items];
  for (const [name, wanted] of Object.entries(equal)) {
    if (wanted === null || wanted === undefined) continue;
    kept = kept.filter((item) => [item[name]].flat().includes(wanted));
  }
  if (typeof fhirpath === 'string') {
    const keep = fhirpathFilter(R4, fhirpath, type);
    kept = kept.filter((item) => keep(item, { resource }));
  }
  for (const number of [_offset, _count]) {
    if (typeof number === 'number' && number < 0) throw new Error('A page cannot be negative');
  }
  if (typeof _offset === 'number') kept = kept.slice(_offset);
  if (typeof _count === 'number') kept = kept.slice(0, _count);
  return kept;
}
