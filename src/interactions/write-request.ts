import type { AnyResource } from '../fhir/resource.js';
import type { GuardedKey } from '../access/contract.js';

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
