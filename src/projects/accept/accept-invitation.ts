import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { serverCaller } from '../../access/caller.js';
import type { GuardedStore, GuardedWrite } from '../../access/contract.js';
import { guardStore } from '../../access/guarded-store.js';
import type { LimitedStoreContext } from '../../access/limits/call-limits.js';
import { type InCall, operation } from '../../access/operation.js';
import { isInactive } from '../../access/sign-in/member.js';
import {
  endInvitation,
  invitationIn,
  invitationKey,
  type OpenInvitation,
  putInvitation,
} from '../../access/write/membership-records.js';
import { normalizeEmail } from '../../access/write/stamp.js';
import type { AuditFacts, AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceTo, splitReference } from '../../fhir/reference.js';
import type { CallOptions } from '../../store/call-options.js';
import { ATTEMPTS, isConflict, Overtaken, withRetries } from '../../store/with-retries.js';
import type { ResourceStore } from '../../store/store.js';
import { assertBody, BodyReader } from '../body/body-reader.js';
import { hashOfSecret, readToken, sameHash, withoutInvitation } from '../invitation.js';

/** The identity of the person who accepts, as the host's identity provider verified it. */
export interface VerifiedIdentity {
  /** The person's id with the identity provider, by which `signIn` will find the membership. */
  readonly externalId: string;
  readonly email: string;
  /** True if the provider or the host verified that the address belongs to the person. */
  readonly emailVerified: boolean;
}

/** The context of an acceptance, which needs no caller: the person is not a member yet. */
export interface AcceptanceContext extends LimitedStoreContext, AuditOptions {
  /** Default: the system clock. */
  readonly clock?: (() => Date) | undefined;
}

/** The membership that was accepted. */
export interface AcceptedInvitation {
  /** `ProjectMembership/1`, for `signIn(store, { membership })`. */
  readonly membership: string;
  /** `Project/1`. */
  readonly project: string;
  /** `User/1`. */
  readonly user: string;
  /** `Practitioner/1`. */
  readonly profile: string;
}

/**
 * Accepts an invitation: links the person's external id with the membership, once. It needs the token of the message,
 * and a verified e-mail address that equals the User's. So neither a forwarded message nor a reassigned address is
 * enough.
 *
 * It never replaces an `externalId` of the membership. Of two concurrent acceptances, one succeeds. After ten failures
 * with the right token the invitation ends; a new one can be sent with `resendInvitation`.
 *
 * @throws FhirError `invitation-invalid` - the token is unknown, used, replaced, withdrawn or expired, or the address
 * differs or is not verified
 * @throws FhirError `invalid` - the identity is malformed
 * @throws FhirError `conflict` - the membership has another external id, or another member of the project has this one
 *
 * @example
 * const accepted = await acceptInvitation(url.searchParams.get('token'), identity, { store });
 * const caller = await signIn(store, accepted);
 */
export function acceptInvitation(
  token: string,
  identity: VerifiedIdentity,
  context: AcceptanceContext,
): Promise<AcceptedInvitation> {
  return operation(context, 'accept-invitation', (bounded, facts) =>
    accept(token, readIdentity(bounded.store.model, identity), bounded, facts),
  );
}

async function accept(
  token: unknown,
  { externalId, email }: ReadIdentity,
  { store, clock, call }: InCall<AcceptanceContext>,
  facts: AuditFacts,
): Promise<AcceptedInvitation> {
  return withRetries({ attempts: ATTEMPTS.members, signal: call.signal }, async () => {
    const found = await findInvitation(store, token, call);
    const { id, invitation, version } = found;
    facts.targets = [{ type: 'ProjectMembership', id }];
    facts.who = { kind: 'unknown', project: invitation.project };
    if (!(Date.parse(invitation.expires) > (clock?.() ?? new Date()).getTime())) throw invalidInvitation();
    const guard = guardStore(store, serverCaller(invitation.project));
    const { member, user, userVersion, memberVersion } = await readInvited(guard, found, call);
    if (email === undefined || user.email === undefined || !isSameMailbox(user.email, email)) {
      await countFailure(store, found, call);
      throw new FhirError('invitation-invalid', 'The invitation is for another e-mail address, or it is not verified');
    }
    if (member.externalId !== undefined && member.externalId !== externalId) {
      // If another acceptance committed between the two reads, this one fails because the invitation is used.
      await findInvitation(store, token, call);
      throw new FhirError('conflict', 'The membership already has another external id, which is never replaced');
    }
    const link: GuardedWrite = {
      kind: 'put',
      key: { type: 'ProjectMembership', id },
      resource: withoutInvitation({ ...member, externalId }),
      expect: { version: memberVersion },
      records: [endInvitation(id, { version })],
    };
    const verified: GuardedWrite = {
      kind: 'put',
      key: { type: 'User', id: user.id! },
      resource: { ...user, emailVerified: true } as User,
      keepSecrets: true,
      expect: { version: userVersion },
    };
    try {
      await guard.commit(user.emailVerified === true ? [link] : [link, verified], call);
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (error.code === 'precondition-failed') return new Overtaken(error);
      throw new FhirError('conflict', 'Another member of the project has this external id', { cause: error });
    }
    const accepted = {
      membership: referenceTo('ProjectMembership', id),
      project: referenceTo('Project', invitation.project),
      user: referenceTo('User', user.id!),
      profile: member.profile.reference ?? '',
    };
    facts.who = { kind: 'member', ...accepted, project: invitation.project };
    return accepted;
  });
}

/** An open invitation, its token proven. */
interface FoundInvitation {
  /** The id of the membership. */
  readonly id: string;
  readonly invitation: OpenInvitation;
  readonly version: string;
}

/** @throws FhirError `invitation-invalid` - always the same error, so that only the owner of a token learns anything */
async function findInvitation(store: ResourceStore, token: unknown, call: CallOptions): Promise<FoundInvitation> {
  const given = readToken(token);
  if (given === undefined) throw invalidInvitation();
  const id = given.membership;
  const [row] = await store.read([invitationKey(id)], call);
  const invitation = row?.status === 'found' ? invitationIn(row.resource) : undefined;
  const isSame = sameHash(invitation?.hash ?? NO_HASH, hashOfSecret(given.secret));
  if (row?.status !== 'found' || invitation === undefined) throw invalidInvitation();
  // A wrong secret is not counted: 256 bits cannot be guessed, and anybody who knows the id could end the invitation.
  if (!isSame) throw invalidInvitation();
  return { id, invitation, version: row.versionId };
}

/** The hash to compare with if there is no invitation. */
const NO_HASH = '0'.repeat(64);

/** Failed attempts with the right token after which an invitation ends. */
const MAX_FAILURES = 10;

/** Counts a failed attempt. An attempt that loses to a concurrent one is not counted, which matters only in a flood. */
async function countFailure(
  store: ResourceStore,
  { id, invitation, version }: FoundInvitation,
  call: CallOptions,
): Promise<void> {
  const failures = invitation.failures + 1;
  const counted = { ...invitation, failures };
  const expect = { version };
  try {
    const write = failures < MAX_FAILURES ? putInvitation(id, counted, expect) : endInvitation(id, expect);
    await store.commit([write], call);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

/** The invited person as it is now. @throws FhirError `invitation-invalid` - nobody can accept for it */
async function readInvited(
  guard: GuardedStore,
  { id, invitation }: FoundInvitation,
  call: CallOptions,
): Promise<{
  readonly member: ProjectMembership;
  readonly memberVersion: string;
  readonly user: User;
  readonly userVersion: string;
}> {
  const keys = [
    { type: 'ProjectMembership', id },
    { type: 'Project', id: invitation.project },
  ];
  const [membership, project] = await guard.read(keys, call);
  if (membership?.status !== 'found' || isInactive(membership.resource)) throw invalidInvitation();
  if (project?.status !== 'found' || isInactive(project.resource)) throw invalidInvitation();
  const member = membership.resource as ProjectMembership;
  const [person] = await guard.read([splitReference(member.user.reference ?? '')], call);
  if (person?.status !== 'found' || person.resource.resourceType !== 'User') throw invalidInvitation();
  return {
    member,
    memberVersion: membership.versionId,
    user: person.resource as User,
    userVersion: person.versionId,
  };
}

function invalidInvitation(): FhirError {
  return new FhirError(
    'invitation-invalid',
    'The invitation cannot be accepted: it is unknown, used, replaced, withdrawn or expired; ask for another one',
  );
}

/**
 * Stricter than the comparison that keeps e-mails of Users unique, which also treats similar-looking letters as equal:
 * a ligature or a full-width letter before the @ may be another mailbox of the same domain.
 */
function isSameMailbox(one: string, other: string): boolean {
  return normalizeEmail(one) === normalizeEmail(other) && nameOf(one) === nameOf(other);
}

/** The part before the @, composed and in lower case. */
function nameOf(email: string): string {
  const text = email.normalize('NFC').trim().toLowerCase();
  return text.slice(0, Math.max(0, text.lastIndexOf('@')));
}

interface ReadIdentity {
  readonly externalId: string;
  /** Undefined if it is not verified. */
  readonly email: string | undefined;
}

/** @throws FhirError `invalid` - one issue per field */
function readIdentity(model: FhirModel, identity: unknown): ReadIdentity {
  const body = assertBody(identity, 'acceptInvitation');
  const reader = new BodyReader(model);
  const externalId = reader.requiredText(body, 'externalId', '');
  const email = reader.requiredText(body, 'email', '', 320);
  const isVerified = reader.flag(body, 'emailVerified', '') === true;
  reader.assertGood('The invitation cannot be accepted');
  return { externalId, email: isVerified ? email : undefined };
}
