import { isDeepStrictEqual } from 'node:util';

/** True for values that JSON writes alike, whatever the order of their keys; a key without value counts as absent. */
export function sameJson(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
