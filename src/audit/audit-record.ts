import type { ErrorCode } from '../fhir/error.js';

/**
 * One interaction for the host's audit trail: the caller, the action, its targets, time and outcome.
 *
 * It never contains contents of resources, search values or error messages.
 */
export interface AuditRecord {
  /**
   * What was done: an interaction of FHIR's REST interface (https://hl7.org/fhir/R4/valueset-type-restful-interaction.html),
   * or an operation of this library such as `graphql` and `invite`.
   */
  readonly interaction: AuditInteraction;
  readonly who: AuditedCaller;
  /** The target resources or, without ids, the target types. Empty for all types. */
  readonly targets: readonly AuditTarget[];
  /** The versions of resources that the answer shows; absent if it shows none. */
  readonly returned?: AuditedResources | undefined;
  /**
   * The patients with a shown or written resource in their compartments, according to the stored resource, even if a
   * policy hides the reference from the caller. Includes a deleted or erased patient if the answer says that it is.
   * Absent if there are none.
   */
  readonly patients?: AuditedPatients | undefined;
  /** Numbers of matches that the answer shows, `graphql` only: one entry per type with the sum of its counts. */
  readonly counts?: readonly AuditedCount[] | undefined;
  /** SHA-256 of the GraphQL document's text, in hex; `graphql` only, absent if there is no document. */
  readonly document?: string | undefined;
  /** The purpose of use from the host; a code of http://terminology.hl7.org/ValueSet/v3-PurposeOfUse. */
  readonly purpose?: string | undefined;
  /** The host's id of the request. */
  readonly requestId?: string | undefined;
  /** Why it was done, in the words given with the operation: `break-glass` and erasures. */
  readonly reason?: string | undefined;
  /** Names of the search parameters used, `birthdate`, without their values; absent without a search. */
  readonly parameters?: readonly string[] | undefined;
  /** Number of resources that a search, history or Bundle answered with. */
  readonly results?: number | undefined;
  /** Number of store calls; `graphql` only. */
  readonly storeCalls?: number | undefined;
  readonly outcome: AuditOutcome;
  /** Instant at which it began, ISO 8601, UTC. */
  readonly started: string;
  /** How long it took, in milliseconds. */
  readonly duration: number;
}

/** The kind of an audited interaction. */
export type AuditInteraction = RestInteraction | 'graphql' | 'import' | SignInInteraction | ProjectOperation;

/** Interactions that create, inspect or end callers. */
export type SignInInteraction =
  | 'sign-in'
  | 'verify-secret'
  | 'break-glass'
  | 'list-memberships'
  | 'who-am-i'
  | 'accept-invitation'
  | 'revoke-sessions';

/** Interactions of the repository. */
export type RestInteraction =
  'create' | 'read' | 'vread' | 'update' | 'patch' | 'delete' | 'search' | 'history' | 'transaction' | 'batch';

/** Operations on projects, their members and their data. */
export type ProjectOperation =
  | 'create-project'
  | 'invite'
  | 'search-members'
  | 'update-member'
  | 'remove-member'
  | 'create-client'
  | 'create-bot'
  | 'update-client'
  | 'update-bot'
  | 'rotate-secret'
  | 'list-projects'
  | 'update-project'
  | 'deactivate-project'
  | 'reactivate-project'
  | 'export-project'
  | 'delete-project'
  | 'erase-resource'
  | 'erase-patient'
  | 'purge-history';

/** The responsible caller, by references. */
export type AuditedCaller =
  | { readonly kind: 'system'; readonly project: string }
  /** Trusted code of the operator, with the project it worked in, if any. */
  | { readonly kind: 'server'; readonly project?: string | undefined }
  | {
      readonly kind: 'member';
      readonly project: string;
      /** `ProjectMembership/1`. */
      readonly membership: string;
      /** `User/1`, `ClientApplication/1` or `Bot/1`. */
      readonly user: string;
      /** `Practitioner/1`. */
      readonly profile: string;
      /** Set for a caller of `breakGlass`: the reason given, and when the access ends. */
      readonly emergency?: AuditedEmergency | undefined;
    }
  /** A request without a valid caller; `project` is the project that a failed sign-in named. */
  | { readonly kind: 'unknown'; readonly project?: string | undefined };

/** Emergency access. */
export interface AuditedEmergency {
  readonly reason: string;
  /** ISO 8601 instant, UTC. */
  readonly until: string;
}

/** Resources that were shown. */
export interface AuditedResources {
  /** The total number of resources. */
  readonly total: number;
  /** The first 1,000 of them. */
  readonly resources: readonly AuditedResource[];
}

/** A version of a resource. */
export interface AuditedResource {
  readonly type: string;
  readonly id: string;
  readonly versionId?: string | undefined;
}

/** Patients whose compartments were touched. */
export interface AuditedPatients {
  /** The total number of patients. */
  readonly total: number;
  /** The ids of the first 1,000 of them. */
  readonly ids: readonly string[];
}

/** A number of matches that was shown. */
export interface AuditedCount {
  readonly type: string;
  readonly count: number;
}

/** A resource or a type that was requested or written. */
export interface AuditTarget {
  readonly type: string;
  readonly id?: string | undefined;
  readonly versionId?: string | undefined;
  /** The interaction with this target, if there were several: the entries of a Bundle. */
  readonly interaction?: RestInteraction | undefined;
}

/** How an interaction ended. */
export type AuditOutcome =
  | { readonly success: true }
  | {
      readonly success: false;
      readonly code: ErrorCode;
      /** The outcome of the write is unknown. */
      readonly unknown?: true | undefined;
    };
