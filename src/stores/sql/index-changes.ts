import type { ParameterFingerprints } from '../../search/index/parameter-fingerprints.js';

/** Stands for every parameter of a type, those included that no model knows any more. */
export const EVERY = '*';

/** Stands for no parameter: the rows of all are made again, and are complete all the while. */
export const REMAKE = '+';

/** Codes of parameters, {@link REMAKE} among them, or {@link EVERY} alone. */
export type Codes = readonly string[];

/** Codes by resource type. Types without an entry have none; the entry of {@link EVERY} holds for all types. */
export interface CodesByType {
  readonly [type: string]: Codes;
}

export function codesOf(codes: CodesByType, type: string): Codes {
  return codes[EVERY] ?? (Object.hasOwn(codes, type) ? codes[type]! : []);
}

export function includesCode(codes: Codes, code: string): boolean {
  return codes[0] === EVERY || codes.includes(code);
}

/** All rows of a resource are made again. */
export function isWhole(codes: Codes): boolean {
  return codes[0] === EVERY || codes.includes(REMAKE);
}

/** Each code once, in order. */
export function union(one: Codes, other: Codes): Codes {
  if (one[0] === EVERY || other[0] === EVERY) return [EVERY];
  return [...new Set([...one, ...other])].sort();
}

/**
 * The parameters whose index rows differ between two sets of definitions: changed, new and removed ones.
 *
 * @param before undefined where nobody knows what the rows were made with
 */
export function changedParameters(before: ParameterFingerprints | undefined, now: ParameterFingerprints): CodesByType {
  if (before === undefined) return { [EVERY]: [EVERY] };
  const changes: { [type: string]: Codes } = {};
  for (const type of new Set([...Object.keys(before), ...Object.keys(now)])) {
    const old = Object.hasOwn(before, type) ? before[type]! : {};
    const present = Object.hasOwn(now, type) ? now[type]! : {};
    const codes = [...new Set([...Object.keys(old), ...Object.keys(present)])].filter(
      (code) => fingerprintOf(old, code) !== fingerprintOf(present, code),
    );
    if (codes.length > 0) changes[type] = codes.sort();
  }
  return changes;
}

/** The parameter that an index entry or a stored parameter belongs to; see index-entry.ts for the forms of codes. */
export function parameterOf(entry: string): string {
  return entry.split(/[$:]/, 1)[0]!;
}

function fingerprintOf(parameters: { readonly [code: string]: string }, code: string): string | undefined {
  return Object.hasOwn(parameters, code) ? parameters[code] : undefined;
}

/** Types without which nobody signs in or is checked; they are indexed first. */
export const FIRST_TYPES: readonly string[] = ['ProjectMembership', 'User', 'AccessPolicy', 'ClientApplication', 'Bot'];

/** Codes as they stand in the database. What is damaged stands for all. */
export function readCodes(text: string): Codes {
  return jsonOf<Codes>(text) ?? [EVERY];
}

/** The same by type. Only a hint where to look: what is damaged may be true of every type. */
export function readCodesByType(text: string): CodesByType {
  return jsonOf<CodesByType>(text) ?? { [EVERY]: [EVERY] };
}

/** Undefined for what is no JSON object or array. */
export function jsonOf<Value extends object>(text: string): Value | undefined {
  try {
    const value = JSON.parse(text) as Value | null;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
