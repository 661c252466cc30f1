import type { Project, ProjectMembership, Reference, User } from '@medplum/fhirtypes';
import { notFound } from '../../fhir/not-found.js';
import { withChosenMeta } from '../../fhir/own-meta.js';
import type { Stored } from '../../fhir/stored.js';
import type { NewInvitation } from '../invitation/new-invitation.js';
import { type PersonProfile, readUser } from '../people/find-people.js';
import { inviterReference, type ProjectSession } from '../session/project-session.js';
import type { InvitationFacts } from './invitation.js';

/** Who was invited. */
export interface InvitedPerson {
  readonly user: Stored<User>;
  readonly profile: Stored<PersonProfile>;
  readonly membership: Stored<ProjectMembership>;
  readonly isNewUser: boolean;
  /** The invitation that the person must accept. */
  readonly invitation?: NewInvitation | undefined;
}

/** Collects the data of an invitation in addition to the invited person. */
export async function invitationFacts(
  session: ProjectSession,
  to: string,
  person: InvitedPerson,
): Promise<Omit<InvitationFacts, 'date'>> {
  const { user, profile, membership, isNewUser, invitation } = person;
  const [project] = await session.guard.read([{ type: 'Project', id: session.project }]);
  if (project?.status !== 'found') throw notFound({ type: 'Project', id: session.project });
  return {
    to,
    project: withChosenMeta(project.resource as Stored<Project>, session),
    user: withChosenMeta(user, session),
    profile: withChosenMeta(profile, session),
    membership: withChosenMeta(membership, session),
    isNewUser,
    ...(invitation === undefined
      ? {}
      : { acceptance: { url: invitation.urlFor(membership.id), expires: invitation.expires } }),
    invitedBy: await inviterWithName(session),
  };
}

async function inviterWithName(session: ProjectSession): Promise<Reference | undefined> {
  const reference = inviterReference(session);
  if (reference?.reference === undefined || !reference.reference.startsWith('User/')) return reference;
  const user = await readUser(session, reference.reference);
  return user === undefined ? reference : { ...reference, display: `${user.firstName} ${user.lastName}` };
}
