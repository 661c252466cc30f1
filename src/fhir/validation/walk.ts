import type { FhirModel } from '../model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import type { Findings } from './findings.js';

/** The state of the walk through one resource and what it contains. */
export interface Walk {
  readonly model: FhirModel;
  readonly findings: Findings;
  /** The scope in which `#id` is resolved. */
  readonly scope: ContainerScope;
  /** True inside a transaction or batch, where a reference may be a search (`Patient?identifier=…`). */
  readonly conditionalReferences: boolean;
}

/** A resource with the resources it contains; contained resources share the scope of their container. */
interface ContainerScope {
  /** Type of the container. */
  readonly type: string;
  /** Types of the contained resources by id. */
  readonly contained: ReadonlyMap<string, string>;
  /** Ids of contained resources that are referred to, or that refer to their container. */
  readonly linked: Set<string>;
  /** The contained resource being walked. */
  inside: JsonObject | undefined;
}

/** The scope that a resource opens. */
export function containerScope(resource: JsonObject): ContainerScope {
  const items: readonly unknown[] = Array.isArray(resource.contained) ? resource.contained : [];
  const contained = new Map<string, string>();
  for (const item of items) {
    if (isJsonObject(item) && typeof item.id === 'string') contained.set(item.id, typeName(item));
  }
  return { type: typeName(resource), contained, linked: new Set(), inside: undefined };
}

/** The value may not be a string and must not be converted to one. */
function typeName({ resourceType }: JsonObject): string {
  return typeof resourceType === 'string' ? resourceType : '';
}

/** A constraint on an element's value beyond its type; findings go to the walk. */
export type ElementRule = (value: never, walk: Walk) => void;

/** A rule for complex elements. */
export type ObjectRule = (value: JsonObject, walk: Walk) => void;
