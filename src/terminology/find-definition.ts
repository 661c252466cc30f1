import type { AnyResource, JsonObject } from '../fhir/resource.js';
import { elementsOf } from '../fhir/resource.js';
import { hasUrl } from '../search/business-keys.js';
import { foldToken } from '../search/index/index-token.js';
import { and, type Criteria } from '../search/criteria/criteria.js';
import type { TerminologyContext } from '../store/terminology.js';

export type DefinitionType = 'CodeSystem' | 'ValueSet';

/** Finds a CodeSystem or ValueSet by its canonical. */
export type FindDefinition = (
  type: DefinitionType,
  canonical: string,
  context: TerminologyContext,
) => Promise<JsonObject | undefined>;

/**
 * Looks in the project first, then among resources of the host. The host's come first for an access policy, and where
 * the canonical names their version: nobody replaces what the host has fixed.
 *
 * Of several versions the active ones come first, then those with the highest version.
 */
export function definitionFinder(resources: readonly AnyResource[]): FindDefinition {
  const given = Map.groupBy(resources.map(elementsOf), ({ url }) => url);
  return async (type, canonical, context) => {
    const [url, version] = splitCanonical(canonical);
    const ofHost = best(
      (given.get(url) ?? []).filter(
        (one) => one['resourceType'] === type && (version === undefined || one['version'] === version),
      ),
    );
    if (ofHost !== undefined && (context.forPolicy === true || version !== undefined)) return ofHost;
    const found = await context.search(type, criteriaFor(type, url, version));
    return best(found.map(elementsOf)) ?? ofHost;
  };
}

/** `url|version`. */
function splitCanonical(canonical: string): readonly [url: string, version: string | undefined] {
  const bar = canonical.lastIndexOf('|');
  return bar < 0 ? [canonical, undefined] : [canonical.slice(0, bar), canonical.slice(bar + 1)];
}

function criteriaFor(type: DefinitionType, url: string, version: string | undefined): Criteria {
  if (url.startsWith(`${type}/`)) return { kind: 'id', ids: [url.slice(type.length + 1)] };
  return and([
    hasUrl(url),
    ...(version === undefined
      ? []
      : [{ kind: 'match', parameter: 'version', test: { kind: 'token', code: foldToken(version) } } as const]),
  ]);
}

function best(found: readonly JsonObject[]): JsonObject | undefined {
  return found.toSorted((one, other) => rank(other) - rank(one) || compareVersions(other, one))[0];
}

function rank({ status }: JsonObject): number {
  return status === 'active' ? 2 : status === 'retired' ? 0 : 1;
}

function compareVersions(one: JsonObject, other: JsonObject): number {
  const text = ({ version }: JsonObject): string => (typeof version === 'string' ? version : '');
  return text(one).localeCompare(text(other), 'en', { numeric: true });
}
