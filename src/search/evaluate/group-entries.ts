import type { IndexEntry } from '../index/index-entry.js';
import { pushTo } from '../../platform/maps.js';

/** Groups index entries by parameter; their order is kept. */
export function groupEntries(entries: readonly IndexEntry[]): ReadonlyMap<string, readonly IndexEntry[]> {
  const groups = new Map<string, IndexEntry[]>();
  for (const entry of entries) {
    pushTo(groups, entry.parameter, entry);
  }
  return groups;
}
