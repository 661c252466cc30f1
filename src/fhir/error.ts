/** One finding, before it becomes an OperationOutcome issue. */
export interface OutcomeIssue {
  /** Default `error`. */
  readonly severity?: 'fatal' | 'error' | 'warning' | 'information' | undefined;
  /** A code of https://hl7.org/fhir/R4/valueset-issue-type.html. */
  readonly code: string;
  /** Human text, safe for clients. */
  readonly diagnostics?: string | undefined;
  /** A more specific code for programs, `OperationOutcome.issue.details.coding`. */
  readonly coding?: OutcomeCoding | undefined;
  /** FHIRPath locations, such as `Patient.name[0].family`. */
  readonly expression?: readonly string[] | undefined;
}

/** A machine-readable code, more specific than the code of the issue. */
export interface OutcomeCoding {
  readonly system: string;
  readonly code: string;
}

/** The OperationOutcome resource as this library writes it. See https://hl7.org/fhir/R4/operationoutcome.html. */
export interface OperationOutcome {
  resourceType: 'OperationOutcome';
  id?: string;
  issue: {
    severity: 'fatal' | 'error' | 'warning' | 'information';
    code: string;
    details?: { coding?: OutcomeCoding[]; text: string };
    expression?: string[];
  }[];
}

/**
 * The contents of an error's `details` by error code, in addition to {@link WriteDetails}. Every entry is optional: a
 * store or a hook of the host may throw an error without it.
 */
export interface ErrorDetails {
  readonly invalid: {
    /** JSON input: the line of the fault, from 1. */
    readonly line?: number;
    readonly column?: number;
    /** JSON and `_filter` input: the offset of the fault in UTF-16 code units from 0. */
    readonly offset?: number;
    /** The unknown search parameter. */
    readonly unknownParameter?: string;
    readonly type?: string;
  };
  readonly 'membership-ambiguous': {
    /** The candidate memberships, `ProjectMembership/1`, with their profiles. */
    readonly memberships?: readonly { readonly membership: string; readonly profile?: string | undefined }[];
  };
  readonly 'policy-missing': {
    /** `AccessPolicy/1`. */
    readonly policy?: string;
  };
  readonly 'policy-invalid': {
    /** `AccessPolicy/1`. */
    readonly policy?: string;
    /** The first rule with a problem, from 1. */
    readonly rule?: number;
    /** `ProjectMembership/1`, when the fault is in its choice of policies. */
    readonly membership?: string;
  };
  readonly conflict: {
    /** The conflicting resource, `Type/id`. */
    readonly holder?: string;
    /** The resource that references the one to be deleted or changed, `Type/id`. */
    readonly usedBy?: string;
    /** The conflicting membership, `ProjectMembership/1`. */
    readonly membership?: string;
    /** Invite: memberships that the person already has, or that use the requested profile or User. */
    readonly memberships?: readonly string[];
    /** Invite: profiles with the same e-mail address, `Type/id`. */
    readonly profiles?: readonly string[];
  };
  readonly 'precondition-failed': {
    /** The current version; null if the resource does not exist. */
    readonly current?: string | null;
  };
  readonly 'too-costly': {
    /** The name of the limit, if the host can set it; `maxResources` of a store call. */
    readonly limit?: string;
    /** The maximum allowed. */
    readonly max?: number;
    /** The requested value, if known. */
    readonly value?: number;
  };
  readonly throttled: {
    /** `concurrency`, or a limit of `streams`. */
    readonly limit?: string;
    /** The maximum number of waiting requests or of streams, or the maximum wait in milliseconds. */
    readonly max?: number;
    /** Seconds to wait before a retry. */
    readonly retryAfter?: number;
  };
  readonly unavailable: {
    /** The store was closed. */
    readonly closed?: boolean;
    /** The file of the database. */
    readonly path?: string;
    /** The option with which the service that owns the database can open it. */
    readonly option?: 'takeOver';
    /** `initialize`: the resources that may exist despite the failure, `Project/1` and `ClientApplication/1`. */
    readonly project?: string;
    readonly client?: string;
  };
  readonly aborted: {
    /** The `deadline` of the store call passed; its signal was not aborted. */
    readonly deadline?: boolean;
  };
  readonly corrupt: {
    /** The file of the database. */
    readonly path?: string;
  };
}

/** What `details` of any error says about the requested writes. */
export interface WriteDetails {
  /** The position of the faulty write in its commit, from 0. */
  readonly index?: number;
  /** The positions of all faulty entries of a Bundle, from 0. */
  readonly entries?: readonly number[];
  /** The outcome of the writes is unknown. */
  readonly unknown?: true;
  /** The writes were committed; a later step failed. */
  readonly written?: true;
}

/**
 * Every way in which a call can fail, as plain data. The list is closed, so a `switch` over it can be exhaustive.
 *
 * `status` is the HTTP status a host should answer with, `issue` the code of the OperationOutcome issue
 * (https://hl7.org/fhir/R4/valueset-issue-type.html).
 */
export const ERROR_CODES = {
  /** The input is malformed: syntax, an unknown name, a bad value. Retrying unchanged cannot succeed. */
  invalid: { status: 400, issue: 'invalid' },
  /** Well formed but not supported, for example a modifier that needs a terminology the store does not have. */
  unsupported: { status: 400, issue: 'not-supported' },
  /** The caller is missing, or no function of this library created it. */
  unauthenticated: { status: 401, issue: 'login' },
  /** The caller is not allowed to do this. */
  forbidden: { status: 403, issue: 'forbidden' },
  /** Sign-in: the user has several memberships in the project; `details.memberships` lists them. */
  'membership-ambiguous': { status: 400, issue: 'multiple-matches' },
  /** Sign-in: the membership does not exist, or the user or client has none in the project. */
  'membership-missing': { status: 403, issue: 'login' },
  /** Sign-in: the membership is inactive. */
  'membership-inactive': { status: 403, issue: 'login' },
  /** Sign-in, and callers in use: the end date of the member's access has passed. */
  'membership-expired': { status: 403, issue: 'login' },
  /** Sign-in, and callers in use: the session was revoked, or the caller's rights have changed. */
  'session-ended': { status: 401, issue: 'login' },
  /** Sign-in: the membership's profile was deleted or never existed. */
  'profile-missing': { status: 403, issue: 'login' },
  /** Sign-in: the membership's User, ClientApplication or Bot does not exist. */
  'user-missing': { status: 403, issue: 'login' },
  /** Sign-in: the project does not exist or is inactive. */
  'project-missing': { status: 403, issue: 'login' },
  /** The invitation is unknown, accepted, replaced, withdrawn or expired; or it is for another e-mail address. */
  'invitation-invalid': { status: 403, issue: 'forbidden' },
  /** Sign-in: an access policy of the membership does not exist. */
  'policy-missing': { status: 403, issue: 'login' },
  /** Sign-in or policy write: the policy is not valid. `details` names it; `issues` has the path of each problem. */
  'policy-invalid': { status: 403, issue: 'login' },
  /** Sign-in: the host requires an explicit access policy and the membership has none. */
  'policy-required': { status: 403, issue: 'login' },
  /** The resource does not exist, or this caller may not see it. */
  'not-found': { status: 404, issue: 'not-found' },
  /** The resource was deleted. */
  gone: { status: 410, issue: 'deleted' },
  /** The state of the store contradicts the request: a duplicate, or a version that is no longer current. */
  conflict: { status: 409, issue: 'conflict' },
  /** `ifMatch` or another precondition did not hold. */
  'precondition-failed': { status: 412, issue: 'conflict' },
  /** Syntactically valid, but it violates the R4 definitions or a rule of the project. */
  unprocessable: { status: 422, issue: 'invariant' },
  /** The request exceeds one of the `limits`; the message names the limit, the value and a remedy. */
  'too-costly': { status: 422, issue: 'too-costly' },
  /** Too many requests of the caller or the project are waiting; a retry after `details.retryAfter` may succeed. */
  throttled: { status: 429, issue: 'throttled' },
  /** A subscription cannot continue, since what its reader knows is not certain any more: search again, and subscribe again. */
  reset: { status: 410, issue: 'processing' },
  /** The host's `signal` or the time limit ended the work. */
  aborted: { status: 503, issue: 'timeout' },
  /** The store cannot be reached or written right now; a retry may succeed. */
  unavailable: { status: 503, issue: 'transient' },
  /** The store's contents are inconsistent; an operator must act. */
  corrupt: { status: 500, issue: 'exception' },
  /** A bug in this library. The cause is kept for the host's log and never shown to clients. */
  internal: { status: 500, issue: 'exception' },
} as const satisfies Record<string, { readonly status: number; readonly issue: string }>;

/** A code of {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The type of `details` for an error with this code. */
export type DetailsOf<Code extends ErrorCode> = WriteDetails &
  (Code extends keyof ErrorDetails ? ErrorDetails[Code] : unknown);

/** Constructor options of {@link FhirError}. */
export interface FhirErrorOptions {
  /** One entry per finding. Default: the error's own code and message. */
  readonly issues?: readonly OutcomeIssue[] | undefined;
  /** Machine-readable facts that clients may see: a limit, conflicting ids. */
  readonly details?: { readonly [name: string]: unknown } | undefined;
  /** The underlying error, for the host's log only. */
  readonly cause?: unknown;
}

/**
 * The one error class of this library: a code of a closed list, an HTTP status, an OperationOutcome.
 *
 * `message` and `outcome` are safe for clients: they never hold values of clinical elements or internals. `cause` is not.
 *
 * @example
 * throw new FhirError('not-found', 'Patient/123 does not exist');
 */
export class FhirError extends Error {
  override readonly name = 'FhirError';
  readonly code: ErrorCode;
  readonly issues: readonly OutcomeIssue[];
  /** Machine-readable facts; {@link FhirError.detailsOf} returns them typed. */
  readonly details: { readonly [name: string]: unknown } | undefined;

  constructor(code: ErrorCode, message: string, options: FhirErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.issues = options.issues ?? [{ code: ERROR_CODES[code].issue, diagnostics: message }];
    this.details = options.details;
  }

  /**
   * Copies the error with another message or additional details. Issues are kept unless the message changes; the cause
   * is always kept.
   */
  with({
    message = this.message,
    details,
  }: Pick<FhirErrorOptions, 'details'> & { readonly message?: string | undefined }): FhirError {
    const merged = { ...this.details, ...details };
    return new FhirError(this.code, message, {
      ...(message === this.message ? { issues: this.issues } : {}),
      ...(Object.keys(merged).length === 0 ? {} : { details: merged }),
      cause: this.cause ?? this,
    });
  }

  /**
   * The details of an error of this code, typed; undefined if the error has another code or no details.
   *
   * @example
   * const { memberships = [] } = error.detailsOf('membership-ambiguous') ?? {};
   */
  detailsOf<Code extends ErrorCode>(code: Code): DetailsOf<Code> | undefined {
    return this.code === code ? (this.details as DetailsOf<Code> | undefined) : undefined;
  }

  /** The HTTP status of the code. */
  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  /** The OperationOutcome a client may see. See https://hl7.org/fhir/R4/operationoutcome.html. */
  get outcome(): OperationOutcome {
    return {
      resourceType: 'OperationOutcome',
      issue: this.issues.map((issue) => ({
        severity: issue.severity ?? 'error',
        code: issue.code,
        ...issueDetails(issue),
        ...(issue.expression === undefined ? {} : { expression: [...issue.expression] }),
      })),
    };
  }

  /** The client-safe parts only. */
  toJSON(): { code: ErrorCode; message: string; details?: { readonly [name: string]: unknown } } {
    return {
      code: this.code,
      message: this.message,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

function issueDetails({ coding, diagnostics: text }: OutcomeIssue): Pick<OperationOutcome['issue'][number], 'details'> {
  if (text === undefined) return {};
  return { details: { ...(coding === undefined ? {} : { coding: [coding] }), text } };
}

/**
 * Passes known errors through and masks all others as `internal`; the original error becomes the `cause` and stays out
 * of the message.
 */
export function maskError(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  return new FhirError('internal', 'Internal error', { cause: error });
}

/**
 * Marks an error of a write with an unknown outcome: `details.unknown` is true, and the OperationOutcome has a coding
 * that says the same. A write error without this mark means that nothing was written.
 *
 * @param consequence what the message says about the outcome
 */
export function inDoubt(error: FhirError, consequence = 'whether it was written is not known'): FhirError {
  if (isInDoubt(error)) return error;
  const message = `${error.message}; ${consequence}`;
  return new FhirError(error.code, message, {
    issues: [{ code: ERROR_CODES[error.code].issue, diagnostics: message, coding: UNKNOWN }],
    details: { ...error.details, unknown: true },
    cause: error.cause ?? error,
  });
}

/** True if the write that failed with this error may nevertheless have been committed. */
export function isInDoubt(error: unknown): boolean {
  return error instanceof FhirError && error.details?.['unknown'] === true;
}

const UNKNOWN = { system: 'urn:fhirgraph:write', code: 'unknown' };

/** Receives errors that are not the client's. */
export type ErrorHook = (error: unknown) => void;

/** Errors that operators must learn of. */
const FAULTS: ReadonlySet<string> = new Set(['internal', 'corrupt', 'unavailable']);

/**
 * Reports an error to the host that is not the client's: for `internal` it reports the cause, which answers hide.
 *
 * @param failed called if the hook fails, at once or in the promise of an async function; clients learn nothing of it
 */
export function reportError(error: unknown, hook: ErrorHook | undefined, failed: () => void = () => undefined): void {
  if (error instanceof FhirError && !FAULTS.has(error.code)) return;
  try {
    const taken: unknown = hook?.(
      error instanceof FhirError && error.code === 'internal' ? (error.cause ?? error) : error,
    );
    Promise.resolve(taken).catch(failed);
  } catch {
    failed();
  }
}
