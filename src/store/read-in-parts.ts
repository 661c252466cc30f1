import { CallPace } from './call-pace.js';
import type { CallOptions } from './call-options.js';
import type { ReadResult } from './stored-resource.js';

/**
 * Keys of one call. A store reads this many resources in a few milliseconds, in one turn of the event loop. Only tests
 * change it.
 */
export const READ_TUNING = { keysAtOnce: 2_000 };

/** Reads any number of keys; other work runs between the parts of a long list. */
export async function readInParts<Key>(
  keys: readonly Key[],
  options: CallOptions | undefined,
  read: (part: readonly Key[]) => Promise<readonly ReadResult[]>,
): Promise<readonly ReadResult[]> {
  const { keysAtOnce } = READ_TUNING;
  if (keys.length <= keysAtOnce) return keys.length === 0 ? [] : read(keys);
  const results: ReadResult[] = [];
  const pace = new CallPace(options);
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    if (pace.isSpent) await pace.next();
    results.push(...(await read(keys.slice(start, start + keysAtOnce))));
  }
  return results;
}
