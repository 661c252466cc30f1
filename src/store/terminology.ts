import type { AnyResource } from '../fhir/resource.js';
import type { Concept } from '../search/criteria/concept-tests.js';
import type { Criteria } from '../search/criteria/criteria.js';
import type { ExpansionRequest } from '../search/criteria/value-test.js';

/**
 * The port through which searches and access policies learn what belongs to value sets and hierarchies of codes.
 *
 * Calls may fail: `unavailable` - it cannot be reached or takes too long; `invalid` - it does not know the value set or
 * code system; `unsupported` - it knows it and cannot expand it; `too-costly` - it is too large. Errors of other classes
 * count as `unavailable`. A search then fails with that error, and a member whose policy needs the expansion cannot sign in.
 */
export interface Terminology {
  /** @returns every concept of the set; the concept itself is `above` and `below` itself. Empty if it has none. */
  expand(request: ExpansionRequest, context: TerminologyContext): Promise<readonly Concept[]>;
  /** How concept A relates to concept B of the same system. See https://hl7.org/fhir/R4/codesystem-operation-subsumes.html. */
  subsumes(request: SubsumesRequest, context: TerminologyContext): Promise<Subsumption>;
  /** @returns undefined for a code that the system does not have */
  lookup(request: LookupRequest, context: TerminologyContext): Promise<Concept | undefined>;
}

/** Two codes to compare in a hierarchy. */
export interface SubsumesRequest {
  readonly system: string;
  readonly codeA: string;
  readonly codeB: string;
}

/** A code to look up. */
export interface LookupRequest {
  readonly system: string;
  readonly code: string;
}

/** How two codes relate in a hierarchy. */
export type Subsumption = 'equivalent' | 'subsumes' | 'subsumed-by' | 'not-subsumed';

/** For whom a terminology is asked. */
export interface TerminologyContext {
  readonly project: string;
  /**
   * Searches resources of the project: with the rights of the caller, or with those of trusted code where an access policy
   * asks. At most 100 are found.
   */
  search(type: string, criteria: Criteria): Promise<readonly AnyResource[]>;
  /** Aborted when the request or its time is over. */
  readonly signal?: AbortSignal | undefined;
}
