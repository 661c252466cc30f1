import { LRUCache } from 'lru-cache';
import { KeySet } from '../../sql/skip/key-set.js';
import type { SkipOrder } from './skip-row.js';

/** What was read of skip indexes lately: rows as they are stored, or as they are used. */
export type SkipCache = LRUCache<string, Kept>;

export type Kept = Uint8Array | KeySet | SkipOrder | Sized | typeof ABSENT;

/** What takes so much memory. */
interface Sized {
  readonly byteLength: number;
}

/** There is no such row. */
export const ABSENT = Symbol('absent');

export function createSkipCache(): SkipCache {
  return new LRUCache({ maxSize: MAX_BYTES, sizeCalculation: sizeOf });
}

/** Memory of a store for skip indexes. */
const MAX_BYTES = 64 * 1024 * 1024;

function sizeOf(kept: Kept): number {
  if (kept === ABSENT) return 64;
  if (kept instanceof KeySet) return 64 + kept.words.byteLength;
  return 64 + ('byteLength' in kept ? kept.byteLength : 32 * kept.starts.length);
}
