import type { AnyResource } from '../resource.js';
import type { PathExpression, SearchParameterType } from './definition-types.js';

/**
 * Definitions as `npm run definitions` writes them into `r4-definitions.js`: JSON texts, so that a process parses only those
 * it needs.
 *
 * ```text
 * version      '4.0.1'
 * resources    ['Account', 'AccessPolicy', …]                   the concrete resource types, sorted
 * types        Patient: { kind: 'resource', base: 'DomainResource', short, elements: [['name', 'HumanName', 1, 'A name …'], …] }
 * targets      [['Patient'], ['Group', 'Patient'], …]           parameters and element types refer to these by number
 * codes        [{ codes: ['male', …], system: 'http://hl7.org/fhir/administrative-gender' }, …]        elements refer to these by number
 * parameters   Patient: [{ code: 'family', type: 'string', expression: 'Patient.name.family', path: [['name', 'family']], short }]
 * patientCompartment  Observation: ['subject', 'performer']
 * summary      Patient: ['id', 'meta', 'identifier', …], PatientLink: ['other', 'type']
 * ```
 */
export interface DefinitionTexts {
  /** The version of FHIR, `4.0.1`. */
  readonly version: string;
  readonly resources: JsonText<readonly string[]>;
  readonly types: { readonly [name: string]: JsonText<TypeRow> };
  readonly targets: JsonText<readonly (readonly string[])[]>;
  readonly codes: JsonText<readonly CodesRow[]>;
  /** By resource type; those under `Resource` apply to all types. */
  readonly parameters: { readonly [resourceType: string]: JsonText<readonly ParameterRow[]> };
  readonly patientCompartment: JsonText<{ readonly [resourceType: string]: readonly string[] }>;
  /** Names of the summary elements of resources and their backbone elements, `[x]` for choices. Default: none are known. */
  readonly summary?: JsonText<{ readonly [type: string]: readonly string[] }>;
  /** The StructureDefinitions that a host has added. They affect no index row. Default: none. */
  readonly profiles?: JsonText<readonly AnyResource[]>;
  /** Names of the fields for extensions by their url, false for none. Default: made from the profiles. */
  readonly extensionFields?: JsonText<{ readonly [url: string]: string | false }>;
  /** The CodeSystems and ValueSets that a host has added, for the bindings of its profiles. Default: none. */
  readonly terminology?: readonly TerminologyText[];
}

/** A CodeSystem or a ValueSet. PERF: its text is parsed only where a binding needs it. */
export interface TerminologyText {
  readonly type: string;
  /** No two of a type have the same. */
  readonly url: string;
  readonly text: JsonText<AnyResource>;
}

/** JSON text that parses to the given type. */
export type JsonText<Value> = string & { readonly __parsesTo?: Value };

export function parseText<Value>(text: JsonText<Value>): Value {
  return JSON.parse(text) as Value;
}

export interface TypeRow {
  readonly kind: 'resource' | 'complex' | 'primitive';
  /** The path of a backbone element: `Patient.contact`. */
  readonly path?: string;
  readonly short: string;
  /** The abstract type whose elements come first. */
  readonly base?: string;
  readonly elements: readonly ElementRow[];
}

/**
 * Name (with `[x]` for a choice), types (blank between them, `Reference(3)` with the number of its targets), flags (1
 * repeats, 2 required), short description, index of its codes.
 */
export type ElementRow = readonly [name: string, types: string, flags: number, short: string, codes?: number];

/** The codes of a required binding, and their system if all share one. */
export interface CodesRow {
  readonly codes: readonly string[];
  readonly system?: string;
}

export interface ParameterRow {
  readonly code: string;
  readonly type: SearchParameterType;
  readonly expression: string;
  readonly short: string;
  readonly path?: PathExpression;
  /** The number of a list, or the list itself. */
  readonly targets?: number | readonly string[];
  readonly words?: true;
  readonly url?: string;
  readonly components?: readonly {
    readonly code: string;
    readonly type: SearchParameterType;
    readonly expression: string;
    readonly path?: PathExpression;
  }[];
}
