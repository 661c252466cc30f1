import type { Container } from '../../fhir/container.js';
import type { FhirError } from '../../fhir/error.js';
import type { JsonObject } from '../../fhir/resource.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { ResolvableReference } from './resolvable-reference.js';

/** A response object under construction. */
export type Output = { [key: string]: unknown };

/** A position of the response that awaits a store call: `out[edge.key]`. */
export type Hole = ReadHole | SearchHole | ReferenceHole | HostHole | HostReferenceHole;

export interface ReadHole {
  readonly out: Output;
}

export interface SearchHole {
  readonly out: Output;
  /** The parent of a reverse list; undefined at the root and inside contained resources, which cannot be referenced. */
  readonly target: { readonly type: string; readonly id: string } | undefined;
}

export interface ReferenceHole {
  readonly out: Output;
  readonly reference: ResolvableReference;
}

export interface HostHole {
  readonly out: Output;
  /** The object that the field belongs to, as the caller sees it; undefined at the root. */
  readonly parent: JsonObject | undefined;
  /** The resource of the parent. */
  readonly container: Container;
}

export interface HostReferenceHole {
  /** The object or list that awaits the resource. */
  readonly out: Output;
  /** Its key; undefined for a list, which is appended to. */
  readonly key: string | undefined;
  /** The target; undefined if the value is absent; an error if the value does not name a resource. */
  readonly link: ReferenceTarget | FhirError | undefined;
  /** Whether missing and hidden resources are null, instead of being left out. */
  readonly keepsAbsent: boolean;
}
