import { OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { PutWrite } from '../../store/write.js';

/**
 * The scope of the times before which no sessions of a User are accepted. They are not in the User, because its
 * owner may change its extensions: a revoked session could take its own end back. An id never contains a slash, so no caller has this
 * project.
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
