import { quote } from '../../fhir/messages/quote.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type { DefinitionProblems } from './problems.js';

/** @returns all profiles as JSON, the present ones first; a repeated one changes nothing */
export function addProfiles(
  present: readonly AnyResource[],
  added: readonly unknown[],
  problems: DefinitionProblems,
): string {
  return addByUrl(present, added, { option: 'profiles', types: ['StructureDefinition'] }, problems);
}

/** @returns all CodeSystems or ValueSets as JSON, the present ones first; a repeated one changes nothing */
export function addTerminology(
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
