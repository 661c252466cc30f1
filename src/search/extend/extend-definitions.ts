import type { SearchParameter, StructureDefinition } from '@medplum/fhirtypes';
import { sameJson } from '../../fhir/json/copy-json.js';
import { didYouMean, quote } from '../../fhir/messages.js';
import type { ParameterRow, PathExpression, TerminologyText } from '../../fhir/model/definition-types.js';
import { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import { prepareModel } from '../index/prepare-model.js';
import { compileParameter, type FindDefinition } from './compile-parameter.js';
import { DefinitionProblems } from './problems.js';
import { readSearchParameter, type SearchParameterSource } from './read-search-parameter.js';

/** The additions of a host to the definitions. */
export interface DefinitionExtensions {
  /**
   * SearchParameter resources. Each applies to the types of its `base`; `Resource` and `DomainResource` mean every type.
   *
   * A parameter whose code, type and expression the definitions already have changes nothing; neither does one that is
   * `derivedFrom` another and has its code and type. Of a resource `code`, `base`, `type`, `expression`, `target`,
   * `component` and `description` are read. See https://hl7.org/fhir/R4/searchparameter.html.
   */
  readonly searchParameters?: readonly (SearchParameter | AnyResource)[] | undefined;
  /** StructureDefinition resources, each with a url of its own: profiles and extensions. */
  readonly profiles?: readonly (StructureDefinition | AnyResource)[] | undefined;
  /**
   * Names of the fields by which schemas show the extensions among `profiles`, by the url of the extension; false for
   * no field. Default: the name of its slice in a profile, otherwise the end of its url in camel case.
   */
  readonly extensionFields?: { readonly [url: string]: string | false } | undefined;
  /** CodeSystem resources whose codes the bindings of profiles need. */
  readonly codeSystems?: readonly AnyResource[] | undefined;
  /** ValueSet resources for the bindings of profiles. */
  readonly valueSets?: readonly AnyResource[] | undefined;
  /**
   * String parameters to index by word: `true` for all, or a list such as `['Organization.name']`, which can contain
   * your own parameters. Each word of the search must then begin a word of some value, in any order: `name=hospital`
   * finds General Hospital of Bern. Default: none; the whole value must begin with the searched text.
   */
  readonly words?: true | readonly string[] | undefined;
}

/** Maximum number of search parameters that can be added at once. */
const MAX_PARAMETERS = 2_000;

/**
 * Extends definitions with search parameters and profiles of a host.
 *
 * Open the store with the result (option `model`); all code above the store uses the store's model. A database that was
 * written with other definitions is re-indexed where they differ; until then, searches by the affected parameters
 * reject with `unavailable`.
 *
 * @param model the definitions to extend, usually {@link R4}; they are not changed
 * @returns a model that is ready to index: the FHIRPath library is loaded if one of its expressions needs it
 * @throws FhirError `invalid` - a definition is malformed, or contradicts another; `issues` has every problem with its
 * location
 * @throws FhirError `unsupported` - a definition uses what this library does not support, such as type `special`
 * @example
 * const model = await extendDefinitions(R4, { searchParameters, words: ['Organization.name'] });
 * const store = new SqliteStore('clinic.db', { model });
 */
export async function extendDefinitions(model: FhirModel, extensions: DefinitionExtensions): Promise<FhirModel> {
  const { searchParameters = [], profiles = [], codeSystems = [], valueSets = [], words = [] } = extensions;
  const { extensionFields = {} } = extensions;
  const problems = new DefinitionProblems();
  let texts = model.texts;
  if (searchParameters.length > 0) {
    await loadFhirPath();
    texts = { ...texts, parameters: withParameters(model, searchParameters, problems) };
    problems.assertNone();
  }
  if (words === true || words.length > 0) {
    texts = { ...texts, parameters: addWords(new FhirModel(texts), words, problems) };
  }
  if (profiles.length > 0) texts = { ...texts, profiles: addProfiles(model.profiles, profiles, problems) };
  if (codeSystems.length > 0 || valueSets.length > 0) {
    const withSystems = addTerminology(model.terminology, codeSystems, 'codeSystems', problems);
    const terminology = addTerminology(withSystems, valueSets, 'valueSets', problems);
    texts = { ...texts, terminology: terminology.map(toText) };
  }
  if (Object.keys(extensionFields).length > 0) {
    const names = { ...model.extensionFields, ...extensionFields };
    texts = { ...texts, extensionFields: JSON.stringify(names) };
  }
  problems.assertNone();
  if (texts === model.texts) return model;
  const extended = new FhirModel(texts);
  for (const problem of extensionFieldsOf(extended).problems) problems.add('extensionFields', problem);
  problems.assertNone();
  return await prepareModel(extended);
}

function toText(resource: AnyResource): TerminologyText {
  const { resourceType: type, url } = resource as AnyResource & { readonly url: string };
  return { type, url, text: JSON.stringify(resource) };
}

function withParameters(
  model: FhirModel,
  resources: readonly AnyResource[],
  problems: DefinitionProblems,
): FhirModel['texts']['parameters'] {
  if (resources.length > MAX_PARAMETERS) {
    problems.add(
      'searchParameters',
      `At most ${MAX_PARAMETERS} search parameters can be added, not ${resources.length}`,
    );
    return {};
  }
  const sources = resources.flatMap(
    (resource, index) => readSearchParameter(resource, `searchParameters[${index}]`, problems) ?? [],
  );
  const own: OwnParameters = new Map();
  const findDefinition = definitionFinder(model, sources);
  for (const source of sources) {
    for (const type of baseTypes(model, source, problems)) {
      const row = compileParameter(model, source, type, findDefinition, problems);
      if (row !== undefined) addParameter(model, own, type, { row, source }, problems);
    }
  }
  const { parameters } = model.texts;
  const added = [...own].map(([type, rows]): [string, string] => [
    type,
    JSON.stringify([...ownRows(parameters, type), ...[...rows.values()].map(({ row }) => row)]),
  ]);
  return { ...parameters, ...Object.fromEntries(added) };
}

function ownRows(parameters: FhirModel['texts']['parameters'], type: string): readonly ParameterRow[] {
  return Object.hasOwn(parameters, type) ? (JSON.parse(parameters[type]!) as readonly ParameterRow[]) : [];
}

/** The resource types that a parameter applies to. */
function baseTypes(
  model: FhirModel,
  { place, subject, base }: SearchParameterSource,
  problems: DefinitionProblems,
): readonly string[] {
  const types = base.flatMap((name) => {
    if (model.isResourceType(name)) return [name];
    if (name === 'Resource' || name === 'DomainResource')
      return model.resourceTypes.filter((type) => model.isA(type, name));
    const suggestion = didYouMean(name, model.resourceTypes);
    problems.add(`${place}.base`, `${subject}: unknown resource type ${quote(name)}.${suggestion}`);
    return [];
  });
  return [...new Set(types)];
}

/** By resource type and code. */
type OwnParameters = Map<string, Map<string, OwnParameter>>;

interface OwnParameter {
  readonly row: ParameterRow;
  readonly source: SearchParameterSource;
}

/**
 * Names that are controls of searches in GraphQL, so that no parameter can have them. Every other control begins with
 * `_`.
 */
export const RESERVED_CODES: ReadonlySet<string> = new Set(['cursor', 'fhirpath']);

/** Adds a parameter to those of a type, unless the type has it already. Contradictions become problems. */
function addParameter(
  model: FhirModel,
  own: OwnParameters,
  type: string,
  added: OwnParameter,
  problems: DefinitionProblems,
): void {
  const { source, row } = added;
  const ofType = own.get(type) ?? new Map<string, OwnParameter>();
  const earlier = ofType.get(row.code);
  const present = earlier?.row ?? model.searchParameter(type, row.code);
  if (present !== undefined) {
    if (isRestatement(present, added)) return;
    const origin = earlier === undefined ? '' : ` of ${earlier.source.place}`;
    const difference =
      present.type === row.type ? `with expression ${quote(present.expression, 200)}` : `of type ${present.type}`;
    problems.add(
      `${source.place}.code`,
      `${source.subject}: ${type} already has ${quote(row.code)}${origin}, ${difference}; use another code`,
    );
    return;
  }
  const clash = nameClash(model, ofType, type, row.code);
  if (clash !== undefined) {
    problems.add(`${source.place}.code`, `${source.subject}: ${clash}`);
    return;
  }
  ofType.set(row.code, added);
  own.set(type, ofType);
}

/** True for the same search under the same name. Descriptions may differ. */
function isRestatement(
  present: Pick<ParameterRow, 'type' | 'expression'> & { readonly path?: PathExpression },
  { row, source }: OwnParameter,
): boolean {
  if (present.type !== row.type) return false;
  if (source.derived || present.expression === row.expression) return true;
  return present.path !== undefined && row.path !== undefined && sameJson(present.path, row.path);
}

/** Codes are also names of arguments in GraphQL, with `_` for `-`. */
function nameClash(
  model: FhirModel,
  own: ReadonlyMap<string, OwnParameter>,
  type: string,
  code: string,
): string | undefined {
  if (code.startsWith('_')) return `codes that begin with "_" are FHIR's; use another code than ${quote(code)}`;
  const name = code.replaceAll('-', '_');
  if (RESERVED_CODES.has(name)) return `${quote(name)} is an argument of every search; use another code`;
  for (const other of [...model.searchParameters(type).keys(), ...own.keys()]) {
    if (other.replaceAll('-', '_') !== name) continue;
    return `in GraphQL ${quote(code)} would be the argument ${quote(name)}, as ${quote(other)} of ${type} already is; use another code`;
  }
  return undefined;
}

/**
 * Finds the parameters that components name by url: the host's, and FHIR's own, with urls that end in their code
 * (`…/SearchParameter/Observation-value-quantity`, `…/clinical-code`).
 */
function definitionFinder(model: FhirModel, sources: readonly SearchParameterSource[]): FindDefinition {
  const given = new Map(sources.flatMap((source) => (source.url === undefined ? [] : [[source.url, source] as const])));
  return (url, type) => {
    const [address] = url.split('|', 1) as [string];
    const own = given.get(address);
    if (own !== undefined) return { code: own.code, type: own.type };
    const code = /^http:\/\/hl7\.org\/fhir\/SearchParameter\/[A-Za-z]+-(.+)$/.exec(address)?.[1];
    const parameter = code === undefined ? undefined : model.searchParameter(type, code);
    return parameter && { code: parameter.code, type: parameter.type };
  };
}

/** @returns all profiles as JSON, the present ones first; a repeated one changes nothing */
function addProfiles(present: readonly AnyResource[], added: readonly unknown[], problems: DefinitionProblems): string {
  return addByUrl(present, added, { option: 'profiles', types: ['StructureDefinition'] }, problems);
}

/** @returns all CodeSystems or ValueSets as JSON, the present ones first; a repeated one changes nothing */
function addTerminology(
  present: readonly AnyResource[],
  added: readonly unknown[],
  option: 'codeSystems' | 'valueSets',
  problems: DefinitionProblems,
): readonly AnyResource[] {
  const types = option === 'codeSystems' ? ['CodeSystem'] : ['ValueSet'];
  return JSON.parse(addByUrl(present, added, { option, types }, problems)) as readonly AnyResource[];
}

function addByUrl(
  present: readonly AnyResource[],
  added: readonly unknown[],
  { option, types }: { readonly option: string; readonly types: readonly unknown[] },
  problems: DefinitionProblems,
): string {
  // A CodeSystem and a ValueSet may share a url.
  const keyOf = (resource: JsonObject): string => JSON.stringify([resource['resourceType'], resource['url']]);
  const byUrl = new Map(present.map(elementsOf).map((resource): [string, JsonObject] => [keyOf(resource), resource]));
  added.forEach((resource, index) => {
    const place = `${option}[${index}]`;
    const url = isJsonObject(resource) ? resource['url'] : undefined;
    if (!isJsonObject(resource) || !types.includes(resource['resourceType']) || typeof url !== 'string') {
      problems.add(place, `${place} is not a ${types.join(' or ')} resource with a url`);
      return;
    }
    const known = byUrl.get(keyOf(resource));
    if (known === undefined) byUrl.set(keyOf(resource), resource);
    else if (!sameJson(known, resource))
      problems.add(`${place}.url`, `Two different ${option} have the url ${quote(url, 120)}`);
  });
  return JSON.stringify([...byUrl.values()]);
}

/** The parameters of all types, with a mark on those to be indexed by word. */
function addWords(
  model: FhirModel,
  words: true | readonly string[],
  problems: DefinitionProblems,
): FhirModel['texts']['parameters'] {
  const chosen = words === true ? undefined : chosenCodes(model, words, problems);
  const { parameters } = model.texts;
  return Object.fromEntries(
    Object.entries(parameters).map(([type, text]) => {
      const codes = chosen?.get(type);
      if (chosen !== undefined && codes === undefined) return [type, text];
      const rows = JSON.parse(text) as readonly ParameterRow[];
      const marked = rows.map((row): ParameterRow =>
        row.type === 'string' && codes?.has(row.code) !== false ? { ...row, words: true } : row,
      );
      return [type, JSON.stringify(marked)];
    }),
  );
}

/** Codes by type. */
function chosenCodes(
  model: FhirModel,
  words: readonly string[],
  problems: DefinitionProblems,
): ReadonlyMap<string, ReadonlySet<string>> {
  const chosen = new Map<string, Set<string>>();
  words.forEach((name, index) => {
    const [, type = '', code = ''] = /^(\w+)\.([\w-]+)$/.exec(name) ?? [];
    const parameter = model.searchParameter(type, code);
    if (parameter?.type === 'string') {
      chosen.set(type, (chosen.get(type) ?? new Set()).add(code));
      return;
    }
    const strings = [...model.searchParameters(type).values()].filter((one) => one.type === 'string');
    const suggestion = didYouMean(
      code,
      strings.map((one) => one.code),
    );
    problems.add(
      `words[${index}]`,
      parameter === undefined
        ? `${quote(name)} is not a search parameter of a resource type, such as Organization.name.${suggestion}`
        : `${quote(name)} is of type ${parameter.type}; only string parameters can be indexed by word`,
    );
  });
  return chosen;
}
