import { nameToId, referenceTo } from '../../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../../fhir/resource.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { DeleteWrite, Expectation, PutWrite } from '../../../store/write.js';

/**
 * The scope of open invitations. An id never contains a slash, so no caller has this project: no read, search or export
 * of a caller reaches the hash of a token.
 */
const OPEN_INVITATIONS = '/invitations';

/** An invitation that was not accepted yet. There is one per membership at most. */
export interface OpenInvitation {
  /** The id of the project. */
  readonly project: string;
  /** The SHA-256 of the secret, in hex. */
  readonly hash: string;
  /** ISO 8601 instant, UTC. */
  readonly expires: string;
  /** How often somebody failed to accept it. */
  readonly failures: number;
}

/** @param membership its id */
export function invitationKey(membership: string): ResourceKey {
  return { project: OPEN_INVITATIONS, type: 'UserSecurityRequest', id: membership };
}

/** Stores an invitation in place of the one that the membership has. */
export function putInvitation(membership: string, invitation: OpenInvitation, expect?: Expectation): PutWrite {
  const { project, hash, expires, failures } = invitation;
  const key = invitationKey(membership);
  const resource = {
    resourceType: 'UserSecurityRequest',
    id: membership,
    type: 'invite',
    project: { reference: referenceTo('Project', project) },
    secret: hash,
    expiresAt: expires,
    failures,
  };
  return { kind: 'put', key, resource, expect };
}

/** Ends the invitation of a membership. Does nothing for a membership without an invitation. */
export function endInvitation(membership: string, expect?: Expectation): DeleteWrite {
  return { kind: 'delete', key: invitationKey(membership), expect };
}

/** @returns undefined for a record that no version of this library wrote */
export function invitationIn(record: AnyResource): OpenInvitation | undefined {
  const { project: home, secret: hash, expiresAt: expires, failures } = elementsOf(record);
  const project = nameToId(home, 'Project');
  if (project === undefined || typeof hash !== 'string' || typeof expires !== 'string') return undefined;
  return { project, hash, expires, failures: Number(failures) };
}
