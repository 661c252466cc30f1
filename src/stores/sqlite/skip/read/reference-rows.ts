import { KEYS_IN_ROW, MAX_TARGET, readReferences, referenceBytes } from '../../../sql/skip/references.js';
import { type SkipRow, TARGETS } from '../../rows/skip-row.js';

/** The stored form of references, a row per range of keys. Undefined if the key of a target is too large. */
export function referenceRows(
  parameter: number,
  range: { readonly first: number; readonly size: number },
  sources: readonly number[],
  targets: readonly number[],
): readonly SkipRow[] | undefined {
  const parts = Array.from({ length: countRows(range.size) }, () => ({
    places: [] as number[],
    targets: [] as number[],
  }));
  for (const [index, source] of sources.entries()) {
    const target = targets[index]!;
    if (target >= MAX_TARGET) return undefined;
    const place = source - range.first;
    const part = parts[Math.floor(place / KEYS_IN_ROW)]!;
    part.places.push(place % KEYS_IN_ROW);
    part.targets.push(target);
  }
  return parts.map((part, value) => ({
    sort: parameter,
    subject: TARGETS,
    value,
    data: referenceBytes(part.places, part.targets),
  }));
}

/** Replaces the references of some resources in a row. */
export function changedReferences(
  bytes: Uint8Array,
  hasChanged: (place: number) => boolean,
  added: { readonly places: readonly number[]; readonly targets: readonly number[] },
): Uint8Array {
  const before = readReferences(bytes);
  const [places, targets] = [[...added.places], [...added.targets]];
  for (const [index, place] of before.places.entries()) {
    if (hasChanged(place)) continue;
    places.push(place);
    targets.push(before.targets[index]!);
  }
  return referenceBytes(places, targets);
}

/** @param size number of keys */
export function countRows(size: number): number {
  return Math.ceil(size / KEYS_IN_ROW);
}
