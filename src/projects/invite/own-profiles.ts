import type { RelatedPerson } from '@medplum/fhirtypes';
import { referenceOf, splitReference } from '../../fhir/reference.js';
import type { InviteRequest } from '../body/invite-body.js';
import {
  formerProfilesOf,
  membershipsWithProfiles,
  type PersonProfile,
  profileInView,
  readProfiles,
} from '../people/find-people.js';
import type { ProjectSession } from '../session/project-session.js';
import { randomId } from '../../platform/node-crypto.js';
import { belongsTo, type Invited } from './find-invited.js';

/** The matching profiles of the User's memberships here, else of its removed ones, without those of others. */
export async function formerOrCurrentProfiles(
  session: ProjectSession,
  request: InviteRequest,
  { user, memberships }: Invited,
): Promise<readonly PersonProfile[]> {
  const former = await formerProfilesOf(session, user?.id ?? randomId());
  const current = memberships.map(({ profile }) => profile.reference ?? '');
  for (const names of [current, former]) {
    const ofType = [...new Set(names)].filter((name) => splitReference(name).type === request.resourceType);
    const profiles = await readProfiles(session, ofType);
    const fitting = await ofPatient(session, profiles, request.patient);
    if (fitting.length === 0) continue;
    const holders = await membershipsWithProfiles(session, fitting.map(referenceOf));
    const taken = new Set(holders.filter((one) => !belongsTo(one, user)).map(({ profile }) => profile.reference));
    const free = fitting.filter((one) => !taken.has(referenceOf(one)));
    if (free.length > 0) return free;
  }
  return [];
}

/** Profiles of the requested patient, as the inviter sees them: a profile with a hidden patient does not match. */
async function ofPatient(
  session: ProjectSession,
  profiles: readonly PersonProfile[],
  patient: string | undefined,
): Promise<readonly PersonProfile[]> {
  if (patient === undefined) return profiles;
  const { caller, view } = session;
  const seesNothing = view === undefined && caller.kind === 'member' && caller.bound;
  const seen = view === undefined ? profiles : await Promise.all(profiles.map((one) => profileInView(session, one)));
  return seesNothing ? [] : profiles.filter((_, index) => patientOf(seen[index]!) === patient);
}

/** The Patient of a RelatedPerson, as `Patient/1`. */
export function patientOf(profile: PersonProfile): string | undefined {
  return (profile as Partial<RelatedPerson>).patient?.reference;
}
