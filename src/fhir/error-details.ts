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
    /** `concurrency`. */
    readonly limit?: string;
    /** The maximum number of waiting requests, or the maximum wait in milliseconds. */
    readonly max?: number;
    /** Seconds to wait before a retry. */
    readonly retryAfter?: number;
  };
  readonly unavailable: {
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
