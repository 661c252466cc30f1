import type { SearchParameter, StructureDefinition } from '@medplum/fhirtypes';
import type { ParameterRow, TerminologyText } from '../../fhir/model/definition-texts.js';
import { FhirModel } from '../../fhir/model/fhir-model.js';
import { didYouMean } from '../../fhir/messages/did-you-mean.js';
import { quote } from '../../fhir/messages/quote.js';
import type { AnyResource } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { prepareModel } from '../index/prepare-model.js';
import { addParameter, definitionFinder, type OwnParameters } from './add-parameter.js';
import { compileParameter } from './compile-parameter.js';
import { DefinitionProblems } from './problems.js';
import { readSearchParameter, type SearchParameterSource } from './read-search-parameter.js';
import { extensionFieldsOf } from '../../profiles/extension-fields.js';
import { addProfiles, addTerminology } from './add-profiles.js';
import { addWords } from './add-words.js';

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
