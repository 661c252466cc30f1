import type { AnyResource } from '../resource.js';

/** A resource type, data type or backbone element. Named as in `@medplum/fhirtypes`: `Patient.contact` is `PatientContact`. */
export interface TypeDefinition {
  readonly name: string;
  /** `complex`: data types and backbone elements; `primitive`: `string`, `dateTime` …, without elements of their own. */
  readonly kind: 'resource' | 'complex' | 'primitive';
  /** By JSON name, in the order of the specification; inherited ones included, choices expanded (`valueQuantity`). */
  readonly elements: ReadonlyMap<string, ElementDefinition>;
  /** The path of a backbone element, `Patient.contact`; absent otherwise. */
  readonly path?: string;
  /** One line of plain text. */
  readonly short: string;
}

/** One element as it appears in JSON. */
export interface ElementDefinition {
  /** JSON name: `name`, `valueQuantity`. */
  readonly name: string;
  /** Name of its {@link TypeDefinition}; `Resource` for `contained`, `Bundle.entry.resource` and their like. */
  readonly type: string;
  /** True if the element repeats: its JSON value is an array. */
  readonly array: boolean;
  /** True if the specification requires at least one. For a choice this applies to the group, not for each member. */
  readonly required: boolean;
  /** Base name of a choice (`value` for `valueQuantity`); absent otherwise. */
  readonly choiceOf?: string;
  /** Reference and canonical: the resource types allowed; absent if any type is. */
  readonly targets?: readonly string[];
  /** Codes of an enumerable required binding (for a Coding or CodeableConcept: of its codings); absent otherwise. */
  readonly codes?: readonly string[];
  /** The code system of all `codes`; absent if there are several. */
  readonly codeSystem?: string;
  /** One line of plain text. */
  readonly short: string;
}

/** The type of a search parameter. */
export type SearchParameterType =
  'string' | 'token' | 'date' | 'number' | 'quantity' | 'reference' | 'uri' | 'composite' | 'special';

/** A search parameter as it applies to one resource type. See https://hl7.org/fhir/R4/searchparameter.html. */
export interface SearchParameterDefinition {
  readonly code: string;
  readonly type: SearchParameterType;
  /** FHIRPath from the resource, only the alternatives that apply to this type: `Patient.name`. */
  readonly expression: string;
  /** The expression compiled at build time; absent if it needs the FHIRPath library. */
  readonly path?: PathExpression;
  /** Reference parameters: the resource types it can point to; absent if any type is allowed. */
  readonly targets?: readonly string[];
  /** Composite parameters: their parts, in order, with expressions relative to each result of `expression`. */
  readonly components?: readonly SearchComponentDefinition[];
  /** String parameters: a search compares its words with the beginnings of words, not of whole values. */
  readonly words?: true;
  /** The canonical url of a parameter that a host has added. */
  readonly url?: string;
  readonly short: string;
}

/** A component of a composite search parameter. */
export interface SearchComponentDefinition {
  /** The code of the parameter that defines the part. */
  readonly code: string;
  readonly type: SearchParameterType;
  readonly expression: string;
  readonly path?: PathExpression;
}

/** The alternatives of an expression (`a | b`), each a chain of steps from the resource. */
export type PathExpression = readonly (readonly PathStep[])[];

/**
 * One step of a compiled expression, in the compact form of the definitions file.
 *
 * | step | FHIRPath |
 * |---|---|
 * | `'name'` | `.name` (a choice's base name reaches every typed form) |
 * | `{ index: 0 }` | `[0]` |
 * | `{ ofType: 'Quantity' }` | `.ofType(Quantity)`, `as Quantity`, `.as(Quantity)` |
 * | `{ path: ['system'], equals: 'phone' }` | `.where(system = 'phone')` |
 * | `{ resolvesTo: 'Patient' }` | `.where(resolve() is Patient)` |
 */
export type PathStep =
  | string
  | { readonly index: number }
  | { readonly ofType: string }
  | { readonly path: readonly string[]; readonly equals: string | boolean }
  | { readonly resolvesTo: string };

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
  /** The base URL of the service, without a slash at its end. Default: none. */
  readonly baseUrl?: string | undefined;
}

/** A CodeSystem or a ValueSet. Its text is parsed only where a binding needs it. */
export interface TerminologyText {
  readonly type: string;
  /** No two of a type have the same. */
  readonly url: string;
  readonly text: JsonText<AnyResource>;
}

/** JSON text that parses to the given type. */
type JsonText<Value> = string & { readonly __parsesTo?: Value };

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
