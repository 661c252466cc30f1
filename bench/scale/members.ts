import type { Write } from 'fhirgraph/store';
import type { Member } from './broad-questions.js';
import { patientId } from './skewed-lines.js';

/** The project, and its members with criteria in their access. */
export function projectAndMembers(): Write[] {
  return [
    put('', { resourceType: 'Project', id: 'broad', ...{ name: 'broad', active: true } }),
    put('broad', { resourceType: 'Practitioner', id: 'p1', ...{ name: [{ family: 'Lee' }] } }),
    ...member('final', 'Practitioner/p1', 'Observation?status=final'),
    ...member('performer', 'Practitioner/p1', 'Observation?performer=%profile'),
    ...member('patient', `Patient/${patientId(0)}`),
  ];
}

/** Without criteria, the profile of the member decides about access. */
function member(name: Member, profile: string, criteria?: string): Write[] {
  const policy = {
    resourceType: 'AccessPolicy',
    id: name,
    resource: [{ resourceType: 'Observation', criteria, interaction: ['read', 'search'] }],
  };
  const membership = {
    resourceType: 'ProjectMembership',
    id: name,
    active: true,
    project: { reference: 'Project/broad' },
    user: { reference: `User/${name}` },
    profile: { reference: profile },
    ...(criteria === undefined ? {} : { accessPolicy: { reference: `AccessPolicy/${name}` } }),
  };
  return [
    put('', { resourceType: 'User', id: name, ...{ email: `${name}@example.org` } }),
    ...(criteria === undefined ? [] : [put('broad', policy)]),
    put('broad', membership),
  ];
}

function put(project: string, resource: { readonly resourceType: string; readonly id: string }): Write {
  return { kind: 'put', key: { project, type: resource.resourceType, id: resource.id }, resource };
}
