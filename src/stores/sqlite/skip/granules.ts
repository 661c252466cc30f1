/** A set of granules, by their number. */
export type GranuleSet = Uint8Array;

/** @param count number of granules of the order */
export function emptySet(count: number): GranuleSet {
  return new Uint8Array(Math.ceil(count / 8));
}

export function addGranule(set: GranuleSet, granule: number): void {
  set[granule >> 3]! |= 1 << (granule & 7);
}

export function hasGranule(set: GranuleSet, granule: number): boolean {
  return (set[granule >> 3]! & (1 << (granule & 7))) !== 0;
}

export function union(a: GranuleSet, b: GranuleSet): GranuleSet {
  return a.map((bits, index) => bits | b[index]!);
}

export function intersection(a: GranuleSet, b: GranuleSet): GranuleSet {
  return a.map((bits, index) => bits & b[index]!);
}

/** The granules that pass. */
export function granulesWhere(count: number, passes: (granule: number) => boolean): GranuleSet {
  const set = emptySet(count);
  for (let granule = 0; granule < count; granule++) if (passes(granule)) addGranule(set, granule);
  return set;
}

export function countGranules(set: GranuleSet): number {
  let count = 0;
  for (let bits of set) for (; bits !== 0; bits &= bits - 1) count++;
  return count;
}
