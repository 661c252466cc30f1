import { readFileSync } from 'node:fs';
import type { PathExpression, SearchParameterType } from './definition-types.js';
import { FhirError } from './error.js';

/**
 * The content of `r4-definitions.json`, written by `npm run definitions`.
 *
 * ```text
 * resources   ['Account', 'AccessPolicy', …]                   the concrete resource types, sorted
 * types       Patient: { kind: 'resource', base: 'DomainResource', short, elements: [['name', 'HumanName', 1, 'A name …'], …] }
 * targets     [['Patient'], ['Group', 'Patient'], …]           parameters and element types refer to these by number
 * codes       [{ codes: ['male', …], system: 'http://hl7.org/fhir/administrative-gender' }, …]        elements refer to these by number
 * parameters  Patient: [{ code: 'family', type: 'string', expression: 'Patient.name.family', path: [['name', 'family']], short }]
 * ```
 *
 * The values of `types` and `parameters` are JSON texts inside the JSON, so that a process parses only those it needs.
 */
export interface DefinitionsFile {
  readonly resources: readonly string[];
  readonly types: { readonly [name: string]: JsonText<TypeRow> };
  readonly targets: readonly (readonly string[])[];
  readonly codes: readonly { readonly codes: readonly string[]; readonly system?: string }[];
  /** By resource type; those under `Resource` hold for every one. */
  readonly parameters: { readonly [resourceType: string]: JsonText<readonly ParameterRow[]> };
  readonly patientCompartment: { readonly [resourceType: string]: readonly string[] };
}

/** A text that parses to such a value. */
export type JsonText<Value> = string & { readonly __parsesTo?: Value };

export interface TypeRow {
  readonly kind: 'resource' | 'complex' | 'primitive';
  /** Where a backbone element stands: `Patient.contact`. */
  readonly path?: string;
  readonly short: string;
  /** The abstract type whose elements come first. */
  readonly base?: string;
  readonly elements: readonly ElementRow[];
}

/**
 * Name (with `[x]` for a choice), types (blank between them, `Reference(3)` with the number of its targets), flags
 * (1 repeats, 2 required), text, number of its codes.
 */
export type ElementRow = readonly [name: string, types: string, flags: number, short: string, codes?: number];

export interface ParameterRow {
  readonly code: string;
  readonly type: SearchParameterType;
  readonly expression: string;
  readonly short: string;
  readonly path?: PathExpression;
  readonly targets?: number;
  readonly components?: readonly {
    readonly code: string;
    readonly type: SearchParameterType;
    readonly expression: string;
    readonly path?: PathExpression;
  }[];
}

let content: DefinitionsFile | undefined;

/**
 * The definitions, read once per process on first use.
 *
 * @throws FhirError `internal` - the file is missing from the source tree or the package.
 */
export function definitionsFile(): DefinitionsFile {
  content ??= readDefinitions();
  return content;
}

function readDefinitions(): DefinitionsFile {
  try {
    // Beside this module in the source tree, beside the bundled chunk in the package.
    // PERF: the file is pure ASCII, and 'latin1' is read without decoding.
    return JSON.parse(readFileSync(new URL('./r4-definitions.json', import.meta.url), 'latin1')) as DefinitionsFile;
  } catch (cause) {
    throw new FhirError(
      'internal',
      'The file r4-definitions.json is missing or damaged; `npm run definitions` makes it',
      {
        cause,
      },
    );
  }
}

/** A lookup that does not fall for `constructor` and `__proto__`. */
export function parseOwn<Value>(record: { readonly [key: string]: JsonText<Value> }, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? (JSON.parse(record[key]!) as Value) : undefined;
}
