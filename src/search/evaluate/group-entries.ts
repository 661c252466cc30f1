import type { IndexEntry } from '../index/index-entry.js';

/** Groups index entries by parameter; their order is kept. */
export function groupEntries(entries: readonly IndexEntry[]): ReadonlyMap<string, readonly IndexEntry[]> {
  const groups = new Map<string, IndexEntry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.parameter);
    if (group === undefined) groups.set(entry.parameter, [entry]);
    else group.push(entry);
  }
  return groups;
}
