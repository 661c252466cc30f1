import type { GuardedKey } from '../access/contract.js';
import { type AnyResource, isJsonObject, versionOfEntityTag } from '../fhir/resource.js';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { kindOf } from '../fhir/validation/findings.js';
import { MAX_NAMES } from '../fhir/validation/json-safety.js';
import type { Expectation } from '../store/write.js';

/**
 * A writing interaction of FHIR's REST interface, as requested. External input is `unknown` and validated on execution.
 * See https://hl7.org/fhir/R4/http.html.
 */
export type WriteRequest =
  /** The resource gets a new UUID as id; an id in the resource is ignored. */
  | {
      readonly interaction: 'create';
      readonly resource: unknown;
      readonly ifNoneExist?: string | undefined;
      /** The new id, if the library generated it before; never one that a client chose. */
      readonly generatedId?: string | undefined;
    }
  /** Updates the resource with this id, or creates it if the caller may choose ids. */
  | {
      readonly interaction: 'update';
      readonly resource: unknown;
      readonly ifMatch?: string | undefined;
      /** The resource must not exist yet. */
      readonly ifNoneMatch?: '*' | undefined;
      /** Search text that no resource may match. */
      readonly ifNoneExist?: string | undefined;
    }
  /** Patches the resource as the caller sees it, with a JSON Patch (RFC 6902). */
  | {
      readonly interaction: 'patch';
      readonly key: GuardedKey;
      readonly operations: unknown;
      readonly ifMatch?: string | undefined;
    }
  | { readonly interaction: 'delete'; readonly key: GuardedKey; readonly ifMatch?: string | undefined };

/** The outcome of a request. */
export type WriteOutcome =
  | {
      readonly status: 'created' | 'updated';
      /** As stored, reduced to what the caller may see. */
      readonly resource: AnyResource;
      /** Set if the caller may not read the written resource: `resource` then only repeats the request. */
      readonly unreadable?: true | undefined;
    }
  /** A conditional create matched this resource; nothing was written. */
  | { readonly status: 'matched'; readonly resource: AnyResource }
  | {
      readonly status: 'deleted';
      readonly key: GuardedKey;
      /** The version of the deletion; null if the resource was already deleted. */
      readonly versionId: string | null;
    };

/**
 * The version that must be current: `3`, `"3"` and `W/"3"` all name version 3; with `ifNoneMatch: '*'`, none may be.
 * See https://hl7.org/fhir/R4/http.html#concurrency.
 *
 * @throws FhirError `invalid`
 */
export function expectationOf(ifMatch: unknown, ifNoneMatch?: unknown): Expectation | undefined {
  if (ifNoneMatch !== undefined) return noneExpected(ifMatch, ifNoneMatch);
  if (ifMatch === undefined) return undefined;
  const version = typeof ifMatch === 'string' ? versionOfEntityTag(ifMatch) : undefined;
  if (version !== undefined) return { version };
  throw new FhirError('invalid', 'ifMatch must be a version such as 3, or an entity tag such as W/"3"');
}

function noneExpected(ifMatch: unknown, ifNoneMatch: unknown): Expectation {
  if (ifMatch !== undefined) throw new FhirError('invalid', 'ifMatch and ifNoneMatch contradict each other');
  if (ifNoneMatch === '*') return { version: null };
  throw new FhirError('invalid', 'ifNoneMatch of a write must be *');
}

/** @throws FhirError `invalid` - not a JSON object, or of an unknown type */
export function assertTyped(model: FhirModel, resource: unknown): asserts resource is AnyResource {
  if (!isJsonObject(resource)) {
    const found = resource === undefined ? 'missing' : kindOf(resource);
    throw new FhirError('invalid', `A resource must be a JSON object, not ${found}`);
  }
  const type = Object.hasOwn(resource, 'resourceType') ? resource['resourceType'] : undefined;
  if (typeof type !== 'string') throw new FhirError('invalid', 'A resource must name its type in "resourceType"');
  if (!model.isResourceType(type)) throw new FhirError('invalid', `Unknown resource type ${quote(type)}`);
}

/**
 * Asserts the parts of a resource that the guard and the store rely on.
 *
 * @throws FhirError `invalid` - as {@link assertTyped}
 * @throws FhirError `too-costly` - more elements than any object may have names
 */
export function assertResource(model: FhirModel, resource: unknown): asserts resource is AnyResource {
  assertTyped(model, resource);
  // Writing copies a resource before the guard checks it.
  let names = 0;
  for (const _ in resource) {
    if (++names > MAX_NAMES) throw new FhirError('too-costly', `A resource has more than ${MAX_NAMES} elements`);
  }
}
