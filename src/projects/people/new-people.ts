import type { ContactPoint, ProjectMembership, User } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { referenceOf, referenceTo } from '../../fhir/reference.js';
import type { PersonProfile } from './find-people.js';
import type { InviteRequest } from '../body/invite-body.js';
import { authored, type ProjectSession } from '../session/project-session.js';
import { randomId } from '../../platform/node-crypto.js';

export function newUser(session: ProjectSession, request: InviteRequest): User {
  const { firstName, lastName, email, externalId, scope, mfaRequired } = request;
  return {
    resourceType: 'User',
    id: randomId(),
    ...(scope === 'project' ? { project: { reference: referenceTo('Project', session.project) } } : {}),
    firstName,
    lastName,
    ...(email === undefined ? {} : { email }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(mfaRequired ? { mfaRequired } : {}),
  };
}

/** @throws FhirError `invalid` - a RelatedPerson without a patient */
export function newProfile(session: ProjectSession, request: InviteRequest): PersonProfile {
  const { resourceType, firstName, lastName, patient } = request;
  const telecom = telecomOf(request);
  const person = {
    id: randomId(),
    name: [{ given: [firstName], family: lastName }],
    ...(telecom === undefined ? {} : { telecom: [telecom] }),
  };
  if (resourceType !== 'RelatedPerson') return authored(session, { resourceType, ...person });
  if (patient === undefined) {
    const diagnostics = 'patient is required to make a RelatedPerson';
    throw new FhirError('invalid', diagnostics, {
      issues: [{ code: 'required', diagnostics, expression: ['patient'] }],
    });
  }
  return authored(session, { resourceType, ...person, patient: { reference: patient } });
}

export function newMembership(
  session: ProjectSession,
  user: User,
  profile: PersonProfile,
  request: InviteRequest,
  invitedBy: ProjectMembership['invitedBy'],
): ProjectMembership {
  const name = `${request.firstName} ${request.lastName}`;
  return authored(session, {
    resourceType: 'ProjectMembership',
    id: randomId(),
    active: true,
    project: { reference: referenceTo('Project', session.project) },
    ...(invitedBy === undefined ? {} : { invitedBy }),
    user: { reference: referenceTo('User', user.id!), display: request.email ?? name },
    profile: { reference: referenceOf(profile), display: name },
  });
}

/** Staff are invited at their work address; the use of other addresses is unknown. */
function telecomOf({ resourceType, email }: InviteRequest): ContactPoint | undefined {
  if (email === undefined) return undefined;
  return { system: 'email', ...(resourceType === 'Practitioner' ? { use: 'work' } : {}), value: email };
}
