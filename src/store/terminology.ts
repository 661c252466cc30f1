import type { AnyResource } from '../fhir/resource.js';
import type { Concept, Criteria } from '../search/criteria/criteria.js';
import type { ExpansionRequest } from '../search/criteria/value-test.js';

/**
 * The interface that resolves value sets and hierarchies of codes for searches and access policies.
 *
 * Calls may fail: `unavailable` - it cannot be reached or takes too long; `invalid` - the value set or code system is
 * unknown; `unsupported` - it is known but cannot be expanded; `too-costly` - it is too large. Errors of other classes
 * count as `unavailable`. A search then fails with that error, and a member whose policy needs the expansion cannot
 * sign in.
 */
export interface Terminology {
  /** @returns every concept of the set; a concept is `above` and `below` itself. Empty if the set is empty. */
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

/** The context of a terminology call. */
export interface TerminologyContext {
  readonly project: string;
  /**
   * Searches resources of the project, with the rights of the caller, and finds at most 100. For an access policy it finds
   * all versions that trusted code or an administrator wrote, and no others, so that nobody widens a policy by writing a
   * value set.
   */
  search(type: string, criteria: Criteria): Promise<readonly AnyResource[]>;
  /** Set if the answer decides what an access policy grants: definitions of the host come before those of the project. */
  readonly forPolicy?: true | undefined;
  /** Aborted when the request or its time is over. */
  readonly signal?: AbortSignal | undefined;
}
