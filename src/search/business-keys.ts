import type { FhirModel } from '../fhir/model/fhir-model.js';
import { type AnyResource, elementsOf, isJsonObject } from '../fhir/resource.js';
import type { Criteria } from './criteria/criteria.js';

// References that name no id lead to resources by their canonical URLs or their identifiers.

export interface Identifier {
  /** Undefined: any. */
  readonly system?: string | undefined;
  readonly value: string;
}

export function isFoundByUrl(model: FhirModel, type: string): boolean {
  return model.searchParameter(type, 'url')?.type === 'uri';
}

export function isFoundByIdentifier(model: FhirModel, type: string): boolean {
  return model.searchParameter(type, 'identifier') !== undefined;
}

export function hasUrl(url: string): Criteria {
  return { kind: 'match', parameter: 'url', test: { kind: 'uri', comparator: 'equals', value: url } };
}

export function hasIdentifier({ system, value }: Identifier): Criteria {
  const test = { kind: 'token', code: value, ...(system === undefined ? {} : { system }) } as const;
  return { kind: 'match', parameter: 'identifier', test };
}

/** The canonicals of a resource: `url`, and `url|version` if it has a version. */
export function canonicalsOf(resource: AnyResource): readonly string[] {
  const { url, version } = elementsOf(resource);
  if (typeof url !== 'string') return [];
  return typeof version === 'string' ? [url, `${url}|${version}`] : [url];
}

export function isIdentifiedBy(resource: AnyResource, { system, value }: Identifier): boolean {
  const { identifier } = elementsOf(resource);
  return (Array.isArray(identifier) ? identifier : [identifier]).some(
    (one) => isJsonObject(one) && one['value'] === value && (system === undefined || one['system'] === system),
  );
}
