import { LRUCache } from 'lru-cache';
import { KeySet } from '../../../sql/skip/key-set.js';
import type { GroupsOrder, LayerGroups, LayerOrder, SkipOrder, SystemsOf } from '../../rows/skip-row.js';

/** Recently read rows of skip indexes, in their stored or their usable form. */
export type SkipCache = LRUCache<string, Kept>;

export type Kept =
  Uint8Array | KeySet | SkipOrder | GroupsOrder | LayerOrder | LayerGroups | SystemsOf | Sized | typeof ABSENT;

/** A cached value with its size. */
interface Sized {
  readonly byteLength: number;
}

/** Cached for a row that does not exist. */
export const ABSENT = Symbol('absent');

export function createSkipCache(): SkipCache {
  return new LRUCache({ maxSize: MAX_BYTES, sizeCalculation: sizeOf });
}

/** Maximum memory of a store for skip indexes, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

function sizeOf(kept: Kept): number {
  if (kept === ABSENT) return 64;
  if (kept instanceof KeySet) return 64 + kept.words.byteLength;
  if ('byteLength' in kept) return 64 + kept.byteLength;
  if ('lists' in kept) return 64 + 2 * kept.lists.length;
  return 64 + ('starts' in kept ? 32 * kept.starts.length : 48 * (kept.same.length + kept.own.length));
}
