import { quote } from '../../fhir/messages/quote.js';
import { sameJson } from '../../fhir/json/same-json.js';
import { elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type { DefinitionProblems } from './problems.js';

/** @returns all profiles as JSON, those present first; one given again changes nothing */
export function addProfiles(
  present: readonly AnyResource[],
  added: readonly unknown[],
  problems: DefinitionProblems,
): string {
  const byUrl = new Map(present.map(elementsOf).map((profile): [unknown, JsonObject] => [profile['url'], profile]));
  added.forEach((profile, index) => {
    const place = `profiles[${index}]`;
    const url = isJsonObject(profile) ? profile['url'] : undefined;
    if (!isJsonObject(profile) || profile['resourceType'] !== 'StructureDefinition' || typeof url !== 'string') {
      problems.add(place, `${place} is not a StructureDefinition resource with a url`);
      return;
    }
    const known = byUrl.get(url);
    if (known === undefined) byUrl.set(url, profile);
    else if (!sameJson(known, profile))
      problems.add(`${place}.url`, `Two different profiles have the url ${quote(url, 120)}`);
  });
  return JSON.stringify([...byUrl.values()]);
}
