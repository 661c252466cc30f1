import type { AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { SERVER_SCOPE, type ResourceStore } from '../../store/store.js';
import { withCallOptions } from '../../store/with-call-options.js';
import { audited, auditedCaller, type AuditedContext } from '../audited.js';
import type { MemberCaller } from '../caller.js';
import type { CallLimits } from '../limits/call-limits.js';
import { underTimeout } from '../limits/under-timeout.js';
import { isInactive, readActiveProject } from './active-project.js';
import { assertRulesIndexed } from './assert-indexed.js';
import { findMembership, membershipMissing, type SignInIdentity } from './find-membership.js';
import { makeCaller } from './make-caller.js';
import { assertUser, memberReference, readProfile } from './member-people.js';
import { readMemberPolicies } from './member-policies.js';
import type { FoundMembership } from './memberships-of.js';
import { namedBy, strangerOf } from './named-by.js';
import { ownParameters } from './own-parameters.js';

export interface SignInOptions extends AuditOptions {
  /** Reject members without an access policy, instead of applying the default of their profile type. Default false. */
  readonly requirePolicy?: boolean | undefined;
  /** Ends the sign-in early with `aborted`. */
  readonly signal?: AbortSignal | undefined;
  readonly limits?: CallLimits | undefined;
}

/**
 * Signs a member in and returns its caller.
 *
 * All conditions of membership are checked here and fixed in the caller: sign in again per request, or as often as you
 * need changes to members and policies to take effect. The host has verified the token; passwords are not checked.
 *
 * @throws FhirError `unauthenticated` - a name is missing, such as a claim that the token does not have
 * @throws FhirError `invalid` - a name is malformed
 * @throws FhirError `membership-missing` - no such membership, or none of that user or client in the project
 * @throws FhirError `membership-ambiguous` - the user has several; `details.memberships` lists them, where the project is
 * named
 * @throws FhirError `membership-inactive` - it was made inactive
 * @throws FhirError `project-missing` - its project is gone or inactive
 * @throws FhirError `user-missing`, `profile-missing` - the User or the profile is gone
 * @throws FhirError `policy-missing` - an access policy that the membership names is gone
 * @throws FhirError `policy-invalid` - a policy, or the membership's choice of policies, is invalid; no default
 * replaces it
 * @throws FhirError `policy-required` - see {@link SignInOptions}
 * @throws FhirError `aborted`, `too-costly` - by the signal, and by `limits.timeout`
 * @throws FhirError `unavailable` - the store's own reasons, and re-indexing of the policies' search parameters
 *
 * @example
 * const caller = await signIn(store, { project: token.project, externalId: token.sub });
 */
export function signIn(
  store: ResourceStore,
  identity: SignInIdentity,
  options: SignInOptions = {},
): Promise<MemberCaller> {
  return audited(auditing(store, options), 'sign-in', (facts) => {
    facts.targets = namedBy(identity);
    facts.who = strangerOf(facts.targets);
    return underTimeout({ store, limits: options.limits }, async (bounded) => {
      const { signal } = options;
      const asked = signal === undefined ? bounded.store : withCallOptions(bounded.store, () => ({ signal }));
      const found = await findMembership(asked, identity, store);
      facts.who = { kind: 'unknown', project: found.project };
      facts.targets = [{ type: 'ProjectMembership', id: found.membership.id }];
      const caller = await checkMember(asked, found, options);
      facts.who = auditedCaller(caller);
      return caller;
    });
  });
}

/** Nobody has signed in yet, so that the purpose and the id of the request are those of the options. */
function auditing(store: ResourceStore, options: SignInOptions): AuditedContext {
  const { audit, requireAudit, purpose, requestId } = options;
  return { store, caller: undefined, audit, requireAudit, purpose, requestId };
}

/** A caller with the current state of its membership. */
export interface CurrentMember {
  readonly caller: MemberCaller;
  /** When the membership was last changed: ISO 8601, UTC. */
  readonly lastUpdated: string;
  /** True where the directory above the projects has the membership. */
  readonly isListed: boolean;
}

/** Signs a caller in again through the same membership. @throws FhirError as {@link signIn} */
export async function signInAgain(store: ResourceStore, caller: MemberCaller): Promise<CurrentMember> {
  const { project, membership: id, user } = caller;
  const key = { type: 'ProjectMembership', id };
  const [found, entry] = await store.read([
    { ...key, project },
    { ...key, project: SERVER_SCOPE },
  ]);
  // The id may have been reused for somebody else.
  if (found?.status !== 'found' || memberReference(found.resource, 'user') !== user) throw membershipMissing(id);
  return {
    caller: await checkMember(
      store,
      { project, membership: found.resource },
      {
        requirePolicy: SIGNED_IN.get(caller),
        purpose: caller.purpose,
        requestId: caller.requestId,
      },
    ),
    lastUpdated: found.lastUpdated,
    isListed: entry?.status === 'found',
  };
}

async function checkMember(
  store: ResourceStore,
  { project, membership }: FoundMembership,
  options: SignInOptions,
): Promise<MemberCaller> {
  const id = membership.id!;
  if (isInactive(membership)) throw new FhirError('membership-inactive', `ProjectMembership/${id} is not active`);
  const settings = await readActiveProject(store, project);
  const user = memberReference(membership, 'user');
  const profile = memberReference(membership, 'profile');
  await assertUser(store, project, user);
  const parameters = ownParameters(await readProfile(store, project, profile));
  const grants = await readMemberPolicies(store, project, membership, parameters);
  if (grants.length === 0 && options.requirePolicy === true) {
    throw new FhirError('policy-required', `ProjectMembership/${id} names no access policy, and one is required`);
  }
  const { purpose, requestId } = options;
  const caller = makeCaller(
    store.model,
    { project, settings, membership, user, profile, parameters, grants },
    { purpose, requestId },
  );
  await assertRulesIndexed(store, project, caller.rules);
  SIGNED_IN.set(caller, options.requirePolicy === true);
  return caller;
}

/** Whether each caller had to have a policy, which holds when it is signed in again. */
const SIGNED_IN = new WeakMap<object, boolean>();
