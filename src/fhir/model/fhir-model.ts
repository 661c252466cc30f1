import { getOrCreate, oncePer } from '../../platform/collections.js';
import { sha256Of } from '../../platform/crypto.js';
import { OWN_EXTENSIONS } from '../own-extensions.js';
import { parseBaseUrl } from '../reference.js';
import type { AnyResource } from '../resource.js';
import {
  type CodesRow,
  type DefinitionTexts,
  type ElementDefinition,
  type ElementRow,
  type ParameterRow,
  parseText,
  type SearchParameterDefinition,
  type TypeDefinition,
} from './definition-types.js';

/**
 * The definitions that a store and everything above it work with: resource types and their elements, search parameters,
 * compartments, and the base URL by which they recognise their own absolute references.
 *
 * A model is immutable. Definitions are parsed on first use and cached, so that a process pays only for the types it
 * uses. Several models can live in one process: caches belong to a model (`perModel`), never to the process.
 */
export class FhirModel {
  /** The version of FHIR that the definitions belong to, `4.0.1`. */
  readonly version: string;
  readonly #texts: DefinitionTexts;
  /** By base URL: caches belong to a model, so the stores of one service share it. */
  readonly #atBases = new Map<string, FhirModel>();
  readonly #types = new Map<string, TypeDefinition>();
  readonly #parameters = new Map<string, ReadonlyMap<string, SearchParameterDefinition>>();
  #resourceTypes: readonly string[] | undefined;
  #concrete: ReadonlySet<string> | undefined;
  #targets: readonly (readonly string[])[] | undefined;
  #codes: readonly CodesRow[] | undefined;
  #patientCompartment: { readonly [resourceType: string]: readonly string[] } | undefined;
  #summary: { readonly [type: string]: readonly string[] } | undefined;
  #profiles: readonly AnyResource[] | undefined;
  #terminology: ReadonlyMap<string, () => AnyResource> | undefined;
  #extensionFields: { readonly [url: string]: string | false } | undefined;
  #contentFingerprint: string | undefined;
  #fingerprint: string | undefined;
  #typesFingerprint: string | undefined;

  /**
   * @internal Hosts create models through functions that check their definitions.
   *
   * @param contentFingerprint of these texts, if known
   * @param fingerprint of the model, if known
   * @param typesFingerprint of its types, if known
   */
  constructor(texts: DefinitionTexts, contentFingerprint?: string, fingerprint?: string, typesFingerprint?: string) {
    this.version = texts.version;
    this.#texts = texts;
    this.#contentFingerprint = contentFingerprint;
    this.#fingerprint = fingerprint;
    this.#typesFingerprint = typesFingerprint;
  }

  /**
   * The base URL of the service, without a slash at its end: `https://clinic.example/fhir/R4`. A reference below it is
   * local: it is indexed, searched, followed and compared as the relative one. Undefined: every absolute reference leads
   * to another server.
   */
  get baseUrl(): string | undefined {
    return this.#texts.baseUrl;
  }

  /**
   * These definitions at a base URL. Equal URLs give the same model.
   *
   * @param baseUrl an absolute `http` or `https` URL, with or without a slash at its end; undefined: this model
   * @throws FhirError `invalid` - it is not such a URL
   */
  withBaseUrl(baseUrl: string | undefined): FhirModel {
    if (baseUrl === undefined) return this;
    const base = parseBaseUrl(baseUrl);
    if (base === this.baseUrl) return this;
    return getOrCreate(this.#atBases, base, () => {
      const { fingerprint, typesFingerprint } = this;
      return new FhirModel({ ...this.#texts, baseUrl: base }, this.#contentOf(), fingerprint, typesFingerprint);
    });
  }

  /** @internal What this model is made of, to make another one of. */
  get texts(): DefinitionTexts {
    return this.#texts;
  }

  /** @internal Of which a thread makes an equal model. */
  get definitions(): {
    readonly texts: DefinitionTexts;
    readonly contentFingerprint: string;
    readonly fingerprint: string;
    readonly typesFingerprint: string;
  } {
    const { version, resources, types, targets, codes, parameters, patientCompartment, baseUrl } = this.#texts;
    const texts = { version, resources, types, targets, codes, parameters, patientCompartment, baseUrl };
    const { fingerprint, typesFingerprint } = this;
    return { texts, contentFingerprint: this.#contentOf(), fingerprint, typesFingerprint };
  }

  /** Names of all concrete resource types, sorted: FHIR's and Medplum's. */
  get resourceTypes(): readonly string[] {
    return (this.#resourceTypes ??= Object.freeze(parseText(this.#texts.resources)));
  }

  /**
   * Names of all types known to {@link typeDefinition}: resource types, data types, backbone elements, abstract types.
   */
  get typeNames(): readonly string[] {
    return Object.keys(this.#texts.types);
  }

  /** True for a concrete resource type; false for `Resource`, `DomainResource` and data types. */
  isResourceType(name: string): boolean {
    this.#concrete ??= new Set(this.resourceTypes);
    return this.#concrete.has(name);
  }

  /** @returns the definition of a resource type, data type or backbone element; undefined for an unknown name. */
  typeDefinition(name: string): TypeDefinition | undefined {
    let definition = this.#types.get(name);
    if (definition === undefined) {
      definition = this.#materialiseType(name);
      if (definition !== undefined) this.#types.set(name, definition);
    }
    return definition;
  }

  /** True when every `type` is an `ancestor` too: `isA('Age', 'Quantity')`, `isA('Patient', 'Resource')`, `isA('code', 'code')`. */
  isA(type: string, ancestor: string): boolean {
    return isKindOf(type, ancestor, () => this.typeDefinition(type)?.kind === 'resource');
  }

  /**
   * Parameters of a type by code, those of every resource included (`_id`, `_lastUpdated`, `_tag` …).
   *
   * @returns an empty map for names that are not resource types.
   */
  searchParameters(resourceType: string): ReadonlyMap<string, SearchParameterDefinition> {
    const known = this.#parameters.get(resourceType);
    if (known !== undefined) return known;
    if (!this.isResourceType(resourceType)) return NO_PARAMETERS;
    const rows = [...this.#parameterRows('Resource'), ...this.#parameterRows(resourceType)];
    const own = Object.hasOwn(OWN_PARAMETERS, resourceType) ? OWN_PARAMETERS[resourceType]! : [];
    const all = [...rows.map((row) => this.#materialiseParameter(row)), ...own];
    const definitions = new Map(all.map((one) => [one.code, one]));
    this.#parameters.set(resourceType, definitions);
    return definitions;
  }

  searchParameter(resourceType: string, code: string): SearchParameterDefinition | undefined {
    return this.searchParameters(resourceType).get(code);
  }

  /**
   * Codes of the reference parameters by which a resource belongs to the patient compartment; empty if it never does.
   *
   * A Patient is always in its own compartment. See https://hl7.org/fhir/R4/compartmentdefinition-patient.html.
   */
  patientCompartment(resourceType: string): readonly string[] {
    const compartment = (this.#patientCompartment ??= parseText(this.#texts.patientCompartment));
    return (Object.hasOwn(compartment, resourceType) ? compartment[resourceType] : undefined) ?? [];
  }

  /**
   * The elements of a resource type or backbone element that `_summary=true` shows, choices by their base name.
   *
   * @returns undefined if the definitions mark none
   */
  summaryElements(type: string): readonly string[] | undefined {
    const summary = (this.#summary ??= this.#texts.summary === undefined ? {} : parseText(this.#texts.summary));
    return Object.hasOwn(summary, type) ? summary[type]!.map((name) => name.replace('[x]', '')) : undefined;
  }

  /** The StructureDefinitions that a host has added with `extendDefinitions`, in its order. Do not change them. */
  get profiles(): readonly AnyResource[] {
    const { profiles } = this.#texts;
    return (this.#profiles ??= profiles === undefined ? [] : parseText(profiles));
  }

  /** @internal The names that a host gives the fields of extensions, by url; false for no field. */
  get extensionFields(): { readonly [url: string]: string | false } {
    const { extensionFields } = this.#texts;
    return (this.#extensionFields ??= extensionFields === undefined ? {} : parseText(extensionFields));
  }

  /** The CodeSystems and ValueSets that a host has added with `extendDefinitions`. Do not change them. */
  get terminology(): readonly AnyResource[] {
    return [...this.#terminologyTexts().values()].map((parsed) => parsed());
  }

  /** @internal One of them, by its type and url. */
  terminologyOf(type: string, url: string): AnyResource | undefined {
    return this.#terminologyTexts().get(`${type} ${url}`)?.();
  }

  #terminologyTexts(): ReadonlyMap<string, () => AnyResource> {
    return (this.#terminology ??= new Map(
      this.#texts.terminology?.map(({ type, url, text }) => {
        let parsed: AnyResource | undefined;
        return [`${type} ${url}`, () => (parsed ??= parseText(text))];
      }),
    ));
  }

  /**
   * Equal for models with equal content, profiles aside, in every process; different if any type, search parameter or compartment
   * differs. Computing it reads all definitions once, which takes a few milliseconds; for R4 it is precomputed.
   */
  get fingerprint(): string {
    return (this.#fingerprint ??= digest([this.#contentOf(), OWN_PARAMETERS]));
  }

  /**
   * The fingerprint of the types alone, descriptions included. Computing it reads all types once, which takes a few
   * milliseconds; for R4 it is precomputed.
   */
  get typesFingerprint(): string {
    const { version, types, targets, codes } = this.#texts;
    return (this.#typesFingerprint ??= digest([version, Object.entries(types).sort(), targets, codes]));
  }

  #contentOf(): string {
    const { version, resources, types, targets, codes, parameters, patientCompartment } = this.#texts;
    const sorted = (texts: { readonly [name: string]: string }): unknown => Object.entries(texts).sort();
    return (this.#contentFingerprint ??= digest([
      version,
      resources,
      sorted(types),
      targets,
      codes,
      sorted(parameters),
      patientCompartment,
    ]));
  }

  #materialiseType(name: string): TypeDefinition | undefined {
    const { types } = this.#texts;
    // An own-property lookup: `constructor` and `__proto__` are unknown names.
    if (!Object.hasOwn(types, name)) return undefined;
    const row = parseText(types[name]!);
    const inherited = row.base === undefined ? undefined : this.typeDefinition(row.base)?.elements;
    const elements = new Map<string, ElementDefinition>(inherited);
    for (const element of row.elements) {
      for (const member of this.#materialiseElement(element)) elements.set(member.name, member);
    }
    return { name, kind: row.kind, elements, short: row.short, ...(row.path === undefined ? {} : { path: row.path }) };
  }

  /** One element, or every typed form of a choice. */
  #materialiseElement([name, alternatives, flags, short, codes]: ElementRow): ElementDefinition[] {
    const base = name.endsWith('[x]') ? name.slice(0, -3) : undefined;
    return alternatives.split(' ').map((alternative) => {
      const [, type, list] = /^(\w+)(?:\((\d+)\))?$/.exec(alternative) as unknown as [string, string, string?];
      return {
        name: base === undefined ? name : base + type[0]!.toUpperCase() + type.slice(1),
        type,
        array: (flags & REPEATS) !== 0,
        required: (flags & REQUIRED) !== 0,
        ...(base === undefined ? {} : { choiceOf: base }),
        ...(list === undefined ? {} : { targets: this.#targetList(Number(list)) }),
        ...(codes === undefined || !CODED.has(type) ? {} : this.#binding(codes)),
        short,
      };
    });
  }

  #binding(number: number): Pick<ElementDefinition, 'codes' | 'codeSystem'> {
    const { codes, system } = (this.#codes ??= parseText(this.#texts.codes))[number]!;
    return system === undefined ? { codes } : { codes, codeSystem: system };
  }

  #parameterRows(resourceType: string): readonly ParameterRow[] {
    const { parameters } = this.#texts;
    return Object.hasOwn(parameters, resourceType) ? parseText(parameters[resourceType]!) : [];
  }

  #materialiseParameter({ targets, ...row }: ParameterRow): SearchParameterDefinition {
    if (targets === undefined) return row;
    return { ...row, targets: typeof targets === 'number' ? this.#targetList(targets) : targets };
  }

  #targetList(number: number): readonly string[] {
    return (this.#targets ??= parseText(this.#texts.targets))[number]!;
  }
}

function digest(content: unknown): string {
  return sha256Of(JSON.stringify(content), 'base64url');
}

const REPEATS = 1;
const REQUIRED = 2;

/** What a binding can apply to; a choice may have other members (`medicationReference`). */
const CODED: ReadonlySet<string> = new Set(['code', 'Coding', 'CodeableConcept', 'string', 'uri']);

const NO_PARAMETERS: ReadonlyMap<string, SearchParameterDefinition> = new Map();

/** Data types that specialise another one. See https://hl7.org/fhir/R4/datatypes.html. */
const PARENTS: ReadonlyMap<string, string> = new Map([
  ['code', 'string'],
  ['id', 'string'],
  ['markdown', 'string'],
  ['canonical', 'uri'],
  ['oid', 'uri'],
  ['url', 'uri'],
  ['uuid', 'uri'],
  ['positiveInt', 'integer'],
  ['unsignedInt', 'integer'],
  ['Age', 'Quantity'],
  ['Count', 'Quantity'],
  ['Distance', 'Quantity'],
  ['Duration', 'Quantity'],
]);

/** Resource types that do not derive from DomainResource. */
const BARE_RESOURCES: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters']);

/**
 * @param isResource whether the type is a resource type, concrete or abstract; called only if needed; may be omitted if
 * `ancestor` is a data type
 */
export function isKindOf(type: string, ancestor: string, isResource: () => boolean = () => false): boolean {
  if (type === ancestor || PARENTS.get(type) === ancestor) return true;
  if (ancestor !== 'Resource' && ancestor !== 'DomainResource') return false;
  return isResource() && (ancestor === 'Resource' || (type !== 'Resource' && !BARE_RESOURCES.has(type)));
}

/**
 * Search parameters that R4 and Medplum do not define and this library needs.
 *
 * R4 has none for Binary, so searches could not find the Binaries of an owner. See
 * https://hl7.org/fhir/R4/binary.html#security-context. Nor could they find the Binary with the code of a Bot, or the
 * members whose invitation or access has ended. The script that computes R4's fingerprint reads them, too.
 */
export const OWN_PARAMETERS: { readonly [resourceType: string]: readonly SearchParameterDefinition[] } = {
  Binary: [
    {
      code: 'security-context',
      type: 'reference',
      expression: 'Binary.securityContext',
      path: [['securityContext']],
      short: 'The resource whose access rights hold for the content',
    },
    {
      code: 'has-security-context',
      type: 'token',
      expression: 'Binary.securityContext.exists()',
      short: 'Whether a security context is given, one that leads nowhere included',
    },
  ],
  ProjectMembership: [
    {
      code: 'invitation-expires',
      type: 'date',
      expression: `ProjectMembership.extension.where(url = '${OWN_EXTENSIONS.invitationExpires}').value`,
      short: 'Until when the open invitation can be accepted',
    },
    {
      code: 'access-expires',
      type: 'date',
      expression: `ProjectMembership.extension.where(url = '${OWN_EXTENSIONS.accessExpires}').value`,
      short: 'When the access of the member ends',
    },
  ],
  Bot: [
    {
      code: 'code-binary',
      type: 'reference',
      expression: 'Bot.sourceCode.url | Bot.executableCode.url',
      targets: ['Binary'],
      short: 'A Binary that holds code of the Bot',
    },
  ],
};

/**
 * Caches a value derived from definitions: one per model, built on first use, kept as long as the model lives.
 *
 * Process-wide caches would mix up models.
 *
 * @example
 * const PLANS = perModel(() => new Map<string, TypePlan>());
 * PLANS(model).get('Patient')
 */
export function perModel<Value>(build: (model: FhirModel) => Value): (model: FhirModel) => Value {
  return oncePer(build);
}
