import type { ParameterFingerprints } from '../../search/index/parameter-fingerprints.js';

/** Represents every parameter of a type, including those removed from the model. */
export const EVERY = '*';

/** Represents no parameter: all rows are re-indexed, and stay complete throughout. */
export const REMAKE = '+';

/** Represents the values of contained resources of every type. */
export const INSIDE = '#';

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

/** True if all rows of a resource are re-indexed. */
export function isWhole(codes: Codes): boolean {
  return codes[0] === EVERY || codes.includes(REMAKE);
}

/** The codes of both, each once, in order. */
export function union(one: Codes, other: Codes): Codes {
  if (one[0] === EVERY || other[0] === EVERY) return [EVERY];
  return [...new Set([...one, ...other])].sort();
}

/**
 * The parameters whose index rows differ between two sets of definitions: changed, new and removed ones.
 *
 * @param before undefined if the definitions of the rows are unknown
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

/**
 * True if a code of index entries or of stored parameters is re-indexed. Codes of contained resources always are,
 * because the numbers of these resources connect their entries. See index-entry.ts for the forms of codes.
 */
export function isMadeAgain(codes: Codes, entry: string): boolean {
  return isWhole(codes) || entry.includes('#') || codes.includes(entry.split(/[$:]/, 1)[0]!);
}

/** The type of the contained resources that an entry leads to or belongs to; undefined for other entries. */
export function insideType(entry: string): string | undefined {
  const start = entry.lastIndexOf('#');
  return start < 0 ? undefined : entry.slice(start + 1).split('.', 1)[0];
}

/**
 * The parameters to re-index of a type whose resources contain resources of the `inside` types: `#Patient` represents
 * all values of contained Patients.
 */
export function changesOf(changes: CodesByType, type: string, inside: Iterable<string>): Codes {
  // Rows that are merely remade stay complete, including those of contained resources.
  const isChanged = (one: string): boolean => codesOf(changes, one).some((code) => code !== REMAKE);
  const held = [...new Set(inside)].filter(isChanged).map((one) => `#${one}`);
  return union(codesOf(changes, type), held);
}

function fingerprintOf(parameters: { readonly [code: string]: string }, code: string): string | undefined {
  return Object.hasOwn(parameters, code) ? parameters[code] : undefined;
}

/** Types needed for sign-in and access checks; they are indexed first. */
export const FIRST_TYPES: readonly string[] = ['ProjectMembership', 'User', 'AccessPolicy', 'ClientApplication', 'Bot'];

/** Parses stored codes. Damaged text counts as all parameters. */
export function readCodes(text: string): Codes {
  return jsonOf<Codes>(text) ?? [EVERY];
}

/** Parses stored codes by type, which only hint where to look. Damaged text counts as all codes of all types. */
export function readCodesByType(text: string): CodesByType {
  return jsonOf<CodesByType>(text) ?? { [EVERY]: [EVERY] };
}

/** Undefined unless the text is a JSON object or array. */
export function jsonOf<Value extends object>(text: string): Value | undefined {
  try {
    const value = JSON.parse(text) as Value | null;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
