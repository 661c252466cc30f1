/**
 * What `details` of an error may hold beside {@link WriteDetails}, by its code. Every entry may be missing: a store or a
 * hook of the host may throw an error without it.
 */
export interface ErrorDetails {
  readonly invalid: {
    /** Of JSON: from 1. */
    readonly line?: number;
    readonly column?: number;
    /** Of JSON and `_filter`: where the fault is, in UTF-16 code units from 0. */
    readonly offset?: number;
    /** The search parameter that the type does not have. */
    readonly unknownParameter?: string;
    readonly type?: string;
  };
  readonly 'membership-ambiguous': {
    /** The memberships to choose from, `ProjectMembership/1`, and the profile of each. */
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
    /** `ProjectMembership/1`, where the fault is in its choice of policies. */
    readonly membership?: string;
  };
  readonly conflict: {
    /** The resource that stands in the way, `Type/id`. */
    readonly holder?: string;
    /** Who uses what was to be deleted or changed, `Type/id`. */
    readonly usedBy?: string;
    /** The membership that stands in the way, `ProjectMembership/1`. */
    readonly membership?: string;
    /** Of an invite: memberships of the person, or that hold what the person needs. */
    readonly memberships?: readonly string[];
    /** Of an invite: profiles that have the e-mail address, `Type/id`. */
    readonly profiles?: readonly string[];
  };
  readonly 'precondition-failed': {
    /** The version that is current; null for none. */
    readonly current?: string | null;
  };
  readonly 'too-costly': {
    /** The name of the limit, where it is one that the host may set. */
    readonly limit?: string;
    /** The most that is allowed. */
    readonly max?: number;
    /** What was asked for, where it is known. */
    readonly value?: number;
  };
  readonly unavailable: {
    /** The file of the database. */
    readonly path?: string;
    /** Of `initialize`: what may have been made all the same, `Project/1` and `ClientApplication/1`. */
    readonly project?: string;
    readonly client?: string;
  };
  readonly aborted: {
    /** The `deadline` of the store call ended it, not its signal. */
    readonly deadline?: boolean;
  };
  readonly corrupt: {
    /** The file of the database. */
    readonly path?: string;
  };
}

/** What `details` of any error says of the writes that were asked for. */
export interface WriteDetails {
  /** The position of the faulty write in its commit, from 0. */
  readonly index?: number;
  /** The positions of all faulty entries of a Bundle, from 0. */
  readonly entries?: readonly number[];
  /** Nobody can tell whether the writes took place. */
  readonly unknown?: true;
  /** The writes took place, and what failed came after them. */
  readonly written?: true;
}
