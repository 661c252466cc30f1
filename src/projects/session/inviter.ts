import type { ProjectMembership } from '@medplum/fhirtypes';
import type { ProjectSession } from './project-session.js';

/**
 * Who invites, for `ProjectMembership.invitedBy`; undefined for trusted code.
 *
 * A client of another project is named by its display text only: its reference would lead astray here.
 */
export function inviterReference({ caller, project }: ProjectSession): ProjectMembership['invitedBy'] {
  if (caller.kind !== 'member') return undefined;
  if (caller.project === project || caller.user.startsWith('User/')) {
    return { reference: caller.user };
  }
  const type = caller.user.startsWith('Bot/') ? 'Bot' : 'ClientApplication';
  return { type, display: `${caller.user} of Project/${caller.project}` };
}
