import { oncePer } from '../../platform/collections.js';
/** The codes of a binding as values of a GraphQL enum: names by code, codes by name. */
export interface CodeNames {
  readonly names: { readonly [code: string]: string };
  readonly codes: { readonly [name: string]: string };
}

/**
 * The names of codes in a GraphQL enum:
 *
 * 1. A code that is a name in GraphQL is its own name: `final`.
 * 2. Comparisons have the names of FHIR's search prefixes: `<` is `lt`, `>=` is `ge`.
 * 3. In all other codes each character that a name cannot have is `_`, and a first digit gets `_` before it:
 *    `entered-in-error` is `entered_in_error`, `4.0.1` is `_4_0_1`. `true`, `false` and `null` get `_` behind them.
 * 4. A name that another code of the binding has gets `_2`, `_3` and so on, in the order of the definitions.
 *
 * No code equals the name of another code, so an input can be either.
 */
export const codeNames: (codes: readonly string[]) => CodeNames = oncePer(nameCodes);

/** The code that an input means, by its name or itself; undefined for any other value. */
export function codeOf({ names, codes }: CodeNames, input: string): string | undefined {
  if (Object.hasOwn(codes, input)) return codes[input];
  return Object.hasOwn(names, input) ? input : undefined;
}

/** Elements with the same binding share their list of codes. */
function nameCodes(codes: readonly string[]): CodeNames {
  const byName = new Map<string, string>();
  for (const code of codes) if (isEnumValue(code)) byName.set(code, code);
  const names: [code: string, name: string][] = [];
  for (const code of codes) {
    const name = byName.get(code) === code ? code : freeName(nameLike(code), byName);
    byName.set(name, code);
    names.push([code, name]);
  }
  return { names: Object.freeze(Object.fromEntries(names)), codes: Object.freeze(Object.fromEntries(byName)) };
}

function nameLike(code: string): string {
  const name = COMPARISONS.get(code) ?? code.replace(/[^0-9A-Za-z_]/g, '_').replace(/^(?=\d)/, '_');
  return LITERALS.has(name) ? `${name}_` : withoutReserved(name === '' ? '_' : name);
}

function freeName(name: string, taken: ReadonlyMap<string, string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = withoutReserved(`${name}_${number}`);
  return free;
}

/** Names with two underscores in front belong to introspection. */
function withoutReserved(name: string): string {
  return name.replace(/^__+/, '_');
}

function isEnumValue(code: string): boolean {
  return /^(?!__)[_A-Za-z]\w*$/.test(code) && !LITERALS.has(code);
}

const LITERALS: ReadonlySet<string> = new Set(['true', 'false', 'null']);

/** See https://hl7.org/fhir/R4/search.html#prefix. */
const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['=', 'eq'],
  ['!=', 'ne'],
  ['<', 'lt'],
  ['<=', 'le'],
  ['>', 'gt'],
  ['>=', 'ge'],
]);
