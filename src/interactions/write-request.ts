import type { AnyResource } from '../fhir/resource.js';
import type { GuardedKey } from '../access/contract.js';

/**
 * An interaction of FHIR's REST interface that writes, as someone asks for it. What comes from outside is `unknown`: it is
 * looked at when the request is carried out. See https://hl7.org/fhir/R4/http.html.
 */
export type WriteRequest =
  /** The id is made here, a UUID; one that the resource brings along is ignored. */
  | { readonly interaction: 'create'; readonly resource: unknown; readonly ifNoneExist?: string | undefined }
  /** Under the id that the resource has; where there is none yet, it is created, if the caller may choose ids. */
  | { readonly interaction: 'update'; readonly resource: unknown; readonly ifMatch?: string | undefined }
  /** By a JSON Patch (RFC 6902) of what the caller sees of the resource. */
  | {
      readonly interaction: 'patch';
      readonly key: GuardedKey;
      readonly operations: unknown;
      readonly ifMatch?: string | undefined;
    }
  | { readonly interaction: 'delete'; readonly key: GuardedKey; readonly ifMatch?: string | undefined };

/** What a request came to. */
export type WriteOutcome =
  | {
      readonly status: 'created' | 'updated';
      /** As stored, as far as the caller sees it. */
      readonly resource: AnyResource;
      /** The caller may not read what it wrote: `resource` repeats what the caller itself sent, and nothing else. */
      readonly unreadable?: true | undefined;
    }
  /** A conditional create found this one; nothing was written. */
  | { readonly status: 'matched'; readonly resource: AnyResource }
  | {
      readonly status: 'deleted';
      readonly key: GuardedKey;
      /** Of the deletion; null where it had been deleted before. */
      readonly versionId: string | null;
    };
