import type { ErrorDetails, WriteDetails } from './error-details.js';
import type { OperationOutcome, OutcomeIssue } from './operation-outcome.js';

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
