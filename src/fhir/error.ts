import type { ErrorDetails, WriteDetails } from './error-details.js';
import { type OperationOutcome, type OutcomeIssue } from './operation-outcome.js';

/**
 * Every way in which a call can fail, as plain data. The list is closed: hosts may switch over it.
 *
 * `status` is the HTTP status a host should answer with, `issue` the code of the OperationOutcome issue
 * (https://hl7.org/fhir/R4/valueset-issue-type.html).
 */
export const ERROR_CODES = {
  /** The input is malformed: syntax, an unknown name, a bad value. The caller must change it. */
  invalid: { status: 400, issue: 'invalid' },
  /** Well formed, but this service does not do it (a modifier that needs a terminology server, say). */
  unsupported: { status: 400, issue: 'not-supported' },
  /** No caller was given, or what was given is no caller. */
  unauthenticated: { status: 401, issue: 'login' },
  /** The caller may not do this. */
  forbidden: { status: 403, issue: 'forbidden' },
  /** Sign-in: the user has several memberships in the project; `details.memberships` lists them. */
  'membership-ambiguous': { status: 400, issue: 'multiple-matches' },
  /** Sign-in: there is no such membership, or none of that user or client in the project. */
  'membership-missing': { status: 403, issue: 'login' },
  /** Sign-in: the membership was made inactive. */
  'membership-inactive': { status: 403, issue: 'login' },
  /** Sign-in: the membership's profile was deleted or never existed. */
  'profile-missing': { status: 403, issue: 'login' },
  /** Sign-in: the membership's User, ClientApplication or Bot is gone. */
  'user-missing': { status: 403, issue: 'login' },
  /** Sign-in: there is no such project, or it is inactive. */
  'project-missing': { status: 403, issue: 'login' },
  /** Sign-in: an access policy that the membership names is gone. */
  'policy-missing': { status: 403, issue: 'login' },
  /** Sign-in, or the write of a policy: it is not understood; `details` names it, `issues` has the path of each problem. */
  'policy-invalid': { status: 403, issue: 'login' },
  /** Sign-in: the host demands an explicit access policy and the membership has none. */
  'policy-required': { status: 403, issue: 'login' },
  /** No such resource, or none that this caller may see. */
  'not-found': { status: 404, issue: 'not-found' },
  /** The resource was deleted. */
  gone: { status: 410, issue: 'deleted' },
  /** The state of the store contradicts the request: a duplicate, a version that has moved on. */
  conflict: { status: 409, issue: 'conflict' },
  /** `ifMatch` or another stated precondition did not hold. */
  'precondition-failed': { status: 412, issue: 'conflict' },
  /** Parsed well, but breaks the R4 definitions or a rule of the project. */
  unprocessable: { status: 422, issue: 'invariant' },
  /** More work than `limits` allow; the message names the limit, the value and the way out. */
  'too-costly': { status: 422, issue: 'too-costly' },
  /** The host's `signal` or the wall clock limit ended the work. */
  aborted: { status: 503, issue: 'timeout' },
  /** The store cannot be reached or written now; trying again may help. */
  unavailable: { status: 503, issue: 'transient' },
  /** The store's content contradicts itself; it needs an operator. */
  corrupt: { status: 500, issue: 'exception' },
  /** Our fault. The cause is kept for the host's log and never shown to a client. */
  internal: { status: 500, issue: 'exception' },
} as const satisfies Record<string, { readonly status: number; readonly issue: string }>;

/** A code of {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** What `details` of an error with this code may hold. */
export type DetailsOf<Code extends ErrorCode> = WriteDetails &
  (Code extends keyof ErrorDetails ? ErrorDetails[Code] : unknown);

/** What a {@link FhirError} is made of. */
export interface FhirErrorOptions {
  /** One entry per finding; the error's own code and message when left out. */
  readonly issues?: readonly OutcomeIssue[] | undefined;
  /** Machine-readable facts that clients may see: a limit, the ids that conflict. */
  readonly details?: { readonly [name: string]: unknown } | undefined;
  /** The underlying fault, for the host's log only. */
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
  /** Facts for programs; {@link FhirError.detailsOf} has them typed. */
  readonly details: { readonly [name: string]: unknown } | undefined;

  constructor(code: ErrorCode, message: string, options: FhirErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.issues = options.issues ?? [{ code: ERROR_CODES[code].issue, diagnostics: message }];
    this.details = options.details;
  }

  /**
   * The same error with another message or further details. Findings stay as they are unless the message changes; the
   * cause stays the fault below.
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
   * The details of an error of this code, typed; undefined where the error has another code or no details.
   *
   * @example
   * const { memberships = [] } = error.detailsOf('membership-ambiguous') ?? {};
   */
  detailsOf<Code extends ErrorCode>(code: Code): DetailsOf<Code> | undefined {
    return this.code === code ? (this.details as DetailsOf<Code> | undefined) : undefined;
  }

  /** The HTTP status that fits the code. */
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

  /** What clients may see, and nothing else. */
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

/** Known errors pass; anything else becomes `internal`, with the fault kept as `cause` and out of the message. */
export function maskError(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  return new FhirError('internal', 'Internal error', { cause: error });
}
