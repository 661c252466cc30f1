import { OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { PutWrite } from '../../store/write.js';

/**
 * The scope of the records of revoked Users: sessions that began before the recorded time are refused. The time is not
 * in the User, because a member may change the extensions of its User, so a revoked session could undo its own end. An
 * id never contains a slash, so no caller has this project.
 */
const REVOKED_USERS = '/revoked-users';

/** @param user its id */
export function revokedUserKey(user: string): ResourceKey {
  return { project: REVOKED_USERS, type: 'User', id: user };
}

/** @param now ISO 8601 instant, UTC */
export function revokeUser(user: string, now: string): PutWrite {
  const record: AnyResource = { resourceType: 'User', id: user };
  const resource = withExtensions(record, OWN_EXTENSIONS.sessionsNotBefore, [{ valueInstant: now }]);
  return { kind: 'put', key: revokedUserKey(user), resource };
}
