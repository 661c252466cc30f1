import { orderOf } from '../../search/evaluate/sort.js';
import type { IndexEntry, IndexValue } from '../../search/index/index-entry.js';
import { compareValues } from './texts.js';

// Flags of an index row. They let a sort walk an index by value and meet each resource once, at its smallest or
// largest value. The bits of a row:
//   1  the resource's smallest value for the parameter; the first of equal ones
//   2  the largest; the last of equal ones
//   4  the resource has several values for the parameter. Rows with the same code count as one value, since a `code`
//      is indexed with and without its system.
//   8  an earlier row of the resource for the parameter has the same code, so counts of a code pass over it
// A resource's only row for a parameter has 3, or 0 if its value cannot be ordered (a token without code). Components of
// composites (group not 0) have 0, since nothing sorts by them.

export const SMALLEST = 1;
export const LARGEST = 2;
export const SEVERAL = 4;
const REPEATED_CODE = 8;

/** The index entries of one resource and, in the same order, the bits of each. */
export interface MarkedEntries {
  readonly entries: readonly IndexEntry[];
  readonly marks: readonly number[];
}

/** Marks the entries of one resource. */
export function markEntries(entries: readonly IndexEntry[]): MarkedEntries {
  const marks: number[] = [];
  const firsts = entries.length > SCAN_LIMIT ? new Map<string, number>() : undefined;
  let repeated: Map<string, number[]> | undefined;
  for (let index = 0; index < entries.length; index++) {
    const { parameter, group, value } = entries[index]!;
    marks.push(0);
    if (group !== 0) continue;
    const first = firsts === undefined ? firstOf(entries, parameter, index) : firsts.get(parameter);
    if (first === undefined) {
      firsts?.set(parameter, index);
      if (value.kind !== 'token' || value.code !== undefined) marks[index] = SMALLEST | LARGEST;
      continue;
    }
    repeated ??= new Map();
    const all = repeated.get(parameter);
    if (all === undefined) repeated.set(parameter, [first, index]);
    else all.push(index);
  }
  if (repeated !== undefined) {
    for (const positions of repeated.values()) markRepeated(entries, positions, marks);
  }
  return { entries, marks };
}

/** PERF (scale): for the few entries of most resources a scan takes less time than a map. */
const SCAN_LIMIT = 32;

function firstOf(entries: readonly IndexEntry[], parameter: string, end: number): number | undefined {
  for (let index = 0; index < end; index++) {
    const entry = entries[index]!;
    if (entry.parameter === parameter && entry.group === 0) return index;
  }
  return undefined;
}

function markRepeated(entries: readonly IndexEntry[], positions: readonly number[], marks: number[]): void {
  let smallest: Placed | undefined;
  let largest: Placed | undefined;
  const several = haveSeveral(entries, positions) ? SEVERAL : 0;
  const codes = new Set<string | undefined>();
  for (const index of positions) {
    const { value: indexed } = entries[index]!;
    marks[index] = several | (indexed.kind === 'token' && isRepeated(indexed.code, codes) ? REPEATED_CODE : 0);
    // A parameter with values of several kinds is in two tables, so no sort walks it and kinds are never compared.
    const value = orderOf(indexed);
    if (value === undefined) continue;
    if (smallest === undefined || compareValues(value, smallest.value) < 0) smallest = { index, value };
    if (largest === undefined || compareValues(value, largest.value) >= 0) largest = { index, value };
  }
  if (smallest === undefined || largest === undefined) return;
  marks[smallest.index]! |= SMALLEST;
  marks[largest.index]! |= LARGEST;
}

function isRepeated(code: string | undefined, seen: Set<string | undefined>): boolean {
  return seen.size === seen.add(code).size;
}

function haveSeveral(entries: readonly IndexEntry[], positions: readonly number[]): boolean {
  const first = entries[positions[0]!]!.value;
  return positions.some((index) => !haveSameCode(entries[index]!.value, first));
}

function haveSameCode(one: IndexValue, other: IndexValue): boolean {
  return one.kind === 'token' && other.kind === 'token' && one.code === other.code;
}

interface Placed {
  readonly index: number;
  readonly value: string | number;
}
