import { orderOf } from '../../search/evaluate/sort.js';
import type { IndexEntry, IndexValue } from '../../search/index/index-entry.js';
import { compareTexts } from './texts.js';

// Flags of an index row. They let a sort walk an index by value and meet each resource once, at its smallest or
// largest value. The bits of a row:
//   1  the resource's smallest value for the parameter; the first of equal ones
//   2  the largest; the last of equal ones
//   4  the resource has several values for the parameter. Rows with the same code count as one value, since a `code`
//      is indexed with and without its system.
// A resource's only row for a parameter has 3, or 0 if its value cannot be ordered (a token without code). Components of
// composites (group not 0) have 0, since nothing sorts by them.

export const SMALLEST = 1;
export const LARGEST = 2;
export const SEVERAL = 4;

/** The bits of each entry, in order. */
export function markExtremes(entries: readonly IndexEntry[]): Uint8Array {
  // PERF: shapes and index rows both call this.
  let marks = known.get(entries);
  if (marks === undefined) known.set(entries, (marks = newMarks(entries)));
  return marks;
}

const known = new WeakMap<readonly IndexEntry[], Uint8Array>();

function newMarks(entries: readonly IndexEntry[]): Uint8Array {
  const marks = new Uint8Array(entries.length);
  const firsts = new Map<string, number>();
  let repeated: Map<string, number[]> | undefined;
  for (const [index, { parameter, group, value }] of entries.entries()) {
    if (group !== 0) continue;
    const first = firsts.get(parameter);
    if (first === undefined) {
      firsts.set(parameter, index);
      if (value.kind !== 'token' || value.code !== undefined) marks[index] = SMALLEST | LARGEST;
      continue;
    }
    repeated ??= new Map();
    const all = repeated.get(parameter);
    if (all === undefined) repeated.set(parameter, [first, index]);
    else all.push(index);
  }
  for (const positions of repeated?.values() ?? []) markRepeated(entries, positions, marks);
  return marks;
}

function markRepeated(entries: readonly IndexEntry[], positions: readonly number[], marks: Uint8Array): void {
  let smallest: Placed | undefined;
  let largest: Placed | undefined;
  const several = haveSeveral(positions.map((index) => entries[index]!.value)) ? SEVERAL : 0;
  for (const index of positions) {
    marks[index] = several;
    const value = orderOf(entries[index]!.value);
    if (value === undefined) continue;
    if (smallest === undefined || compare(value, smallest.value) < 0) smallest = { index, value };
    if (largest === undefined || compare(value, largest.value) >= 0) largest = { index, value };
  }
  if (smallest === undefined || largest === undefined) return;
  marks[smallest.index]! |= SMALLEST;
  marks[largest.index]! |= LARGEST;
}

function haveSeveral(values: readonly IndexValue[]): boolean {
  const [first] = values;
  return values.some((value) => value.kind !== 'token' || first!.kind !== 'token' || value.code !== first!.code);
}

interface Placed {
  readonly index: number;
  readonly value: string | number;
}

/** The order of databases. Kinds of values are never mixed: such parameters are in two tables and never walked. */
function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b));
}
