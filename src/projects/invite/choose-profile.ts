import type { ProjectMembership } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { referenceOf } from '../../fhir/reference.js';
import type { InviteRequest } from '../body/invite-body.js';
import {
  membershipsWithProfiles,
  type PersonProfile,
  profileInView,
  profilesWithEmail,
  readProfile,
} from '../people/find-people.js';
import type { ProjectSession } from '../session/project-session.js';
import { belongsTo, type Invited } from './find-invited.js';
import { alreadyMember, severalProfiles } from './invite-conflicts.js';
import { formerOrCurrentProfiles, patientOf } from './own-profiles.js';

/** The profile of an invited person. */
export type ProfileChoice =
  /** The unchanged profile of the updated membership. */
  | { readonly kind: 'kept'; readonly profile: PersonProfile }
  /** An existing profile, which must not belong to anybody else at commit time. */
  | { readonly kind: 'linked'; readonly profile: PersonProfile }
  | {
      readonly kind: 'new';
      /** Created because the inviter sees no profile with the e-mail address; the commit verifies this. */
      readonly forWantOfCandidates: boolean;
    };

/** The input of the rules below. */
interface Question {
  readonly session: ProjectSession;
  readonly request: InviteRequest;
  readonly invited: Invited;
  /** The membership that is updated. */
  readonly updated: ProjectMembership | undefined;
}

/** @returns undefined if the row does not apply @throws FhirError `conflict` */
type Row = (question: Question) => Promise<ProfileChoice | undefined> | ProfileChoice | undefined;

/**
 * The first row that applies decides; the last one always does.
 *
 * | row | profile |
 * |---|---|
 * | a membership is updated and its profile exists | that one; `conflict` if the body asks for another |
 * | `membership.profile` | that one; `conflict` if it is another member's or another patient's |
 * | `newProfile` | new |
 * | the User's other memberships here, else its removed ones, had one such profile | that one; `conflict` for several |
 * | the inviter sees profiles with the e-mail address | `conflict`, else new |
 *
 * An e-mail address inside a profile is not an identity: a caller who may write profiles may write anybody's address. So it
 * never decides who owns a profile.
 */
const ROWS: readonly Row[] = [profileOfMembership, profileInBody, newProfile, profileOfUser];

/**
 * @throws FhirError `conflict` - see the table; `details.profiles` or `details.memberships` name the conflicting
 * resources
 */
export async function chooseProfile(question: Question): Promise<ProfileChoice> {
  for (const row of ROWS) {
    const choice = await row(question);
    if (choice !== undefined) return choice;
  }
  return newUnlessSeen(question);
}

async function profileOfMembership({ session, request, updated }: Question): Promise<ProfileChoice | undefined> {
  if (updated === undefined) return undefined;
  const reference = updated.profile.reference ?? '';
  const profile = await readProfile(session, reference);
  if (profile === undefined) return undefined;
  const differs =
    (request.profile ?? reference) !== reference ||
    profile.resourceType !== request.resourceType ||
    (request.patient !== undefined && request.patient !== patientOf(await profileInView(session, profile)));
  if (differs) throw alreadyMember([updated], ' with a different profile');
  return { kind: 'kept', profile };
}

async function profileInBody({ session, request, invited }: Question): Promise<ProfileChoice | undefined> {
  const name = request.profile;
  if (name === undefined) return undefined;
  const profile = await readProfile(session, name);
  // It was deleted after the body was checked.
  if (profile === undefined) return { kind: 'new', forWantOfCandidates: !request.newProfile };
  if (request.patient !== undefined) {
    const seen = session.view === undefined ? profile : await profileInView(session, profile);
    if (patientOf(seen) !== request.patient) {
      throw new FhirError('conflict', `${name} belongs to a different patient than the request names`);
    }
  }
  const owner = (await membershipsWithProfiles(session, [name])).find((one) => !belongsTo(one, invited.user));
  if (owner === undefined) return { kind: 'linked', profile };
  throw new FhirError('conflict', `${name} is the profile of another member; choose one as membership.profile`, {
    details: { memberships: [referenceOf(owner)] },
  });
}

function newProfile({ request }: Question): ProfileChoice | undefined {
  return request.newProfile ? { kind: 'new', forWantOfCandidates: false } : undefined;
}

async function profileOfUser({ session, request, invited }: Question): Promise<ProfileChoice | undefined> {
  const [profile, ...others] = await formerOrCurrentProfiles(session, request, invited);
  if (profile === undefined) return undefined;
  if (others.length === 0) return { kind: 'linked', profile };
  throw severalProfiles(
    'The user has had several profiles in this project',
    await namesInView(session, [profile, ...others]),
  );
}

async function newUnlessSeen({ session, request }: Question): Promise<ProfileChoice> {
  const others = await profilesWithEmail(session, request);
  if (others.length === 0) return { kind: 'new', forWantOfCandidates: true };
  throw severalProfiles(
    'An e-mail address does not prove who owns a profile, and other profiles have this one',
    others,
  );
}

async function namesInView(session: ProjectSession, profiles: readonly PersonProfile[]): Promise<readonly string[]> {
  const keys = profiles.map(({ resourceType, id }) => ({ type: resourceType, id: id! }));
  const found = (await session.view?.read(keys, session.options)) ?? [];
  return profiles.filter((_, index) => found[index]?.status === 'found').map(referenceOf);
}
