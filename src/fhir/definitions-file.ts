import { readFileSync } from 'node:fs';
import type { PathExpression, SearchParameterType } from './definition-types.js';
import { FhirError } from './error.js';

/**
 * The content of `r4-definitions.json`, written by `npm run definitions`.
 *
 * ```text
 * types       Patient: { kind: 'resource', base: 'DomainResource', short, elements: [['name', 'HumanName', 1, 'A name …'], …] }
 * targets     [['Patient'], ['Group', 'Patient'], …]           parameters and element types refer to these by number
 * codes       [{ codes: ['male', …], system: 'http://hl7.org/fhir/administrative-gender' }, …]        elements refer to these by number
 * parameters  Patient: [{ code: 'family', type: 'string', expression: 'Patient.name.family', path: [['name', 'family']], short }]
 * ```
 */
export interface DefinitionsFile {
  readonly types: { readonly [name: string]: TypeRow };
  readonly targets: readonly (readonly string[])[];
  readonly codes: readonly { readonly codes: readonly string[]; readonly system?: string }[];
  /** By resource type; those under `Resource` hold for every one. */
  readonly parameters: { readonly [resourceType: string]: readonly ParameterRow[] };
  readonly patientCompartment: { readonly [resourceType: string]: readonly string[] };
}

export interface TypeRow {
  readonly kind: 'resource' | 'complex' | 'primitive';
  readonly abstract?: boolean;
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
    return JSON.parse(readFileSync(new URL('./r4-definitions.json', import.meta.url), 'utf8')) as DefinitionsFile;
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
