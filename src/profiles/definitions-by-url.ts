import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { elementsOf, type AnyResource, type JsonObject } from '../fhir/resource.js';

/** Finds the profiles and the terminology of a model by canonical URL, with or without a version. */
interface DefinitionsByUrl {
  profile(url: string): JsonObject | undefined;
  valueSet(url: string): JsonObject | undefined;
  codeSystem(url: string): JsonObject | undefined;
}

export const definitionsByUrl: (model: FhirModel) => DefinitionsByUrl = perModel((model) => {
  const profiles = byUrl(model.profiles);
  const terminology = (type: string, url: string): JsonObject | undefined => {
    const found = model.terminologyOf(type, withoutVersion(url));
    return found && elementsOf(found);
  };
  return {
    profile: (url) => profiles.get(withoutVersion(url)),
    valueSet: (url) => terminology('ValueSet', url),
    codeSystem: (url) => terminology('CodeSystem', url),
  };
});

/** `http://x/y|1.0` is `http://x/y`: a model has one version of a definition. */
export function withoutVersion(url: string): string {
  const end = url.indexOf('|');
  return end < 0 ? url : url.slice(0, end);
}

/** The name of a type of FHIR itself by the URL of its definition; undefined for profiles and other URLs. */
export function coreTypeOf(model: FhirModel, url: string): string | undefined {
  const name = withoutVersion(url).startsWith(CORE) ? withoutVersion(url).slice(CORE.length) : '';
  return model.typeDefinition(name) === undefined ? undefined : name;
}

const CORE = 'http://hl7.org/fhir/StructureDefinition/';

function byUrl(resources: readonly AnyResource[]): ReadonlyMap<unknown, JsonObject> {
  return new Map(resources.map(elementsOf).map((resource) => [resource['url'], resource]));
}
