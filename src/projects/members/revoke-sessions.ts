import { assertCaller, serverCaller } from '../../access/caller.js';
import type { GuardedStore } from '../../access/contract.js';
import { guardStore } from '../../access/guarded-store.js';
import { currentCaller } from '../../access/sign-in/current-caller.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { revokedUserKey, revokeUser, revocationTime } from '../../access/sign-in/member.js';
import { FhirError } from '../../fhir/error.js';
import { notFound, referenceTo } from '../../fhir/reference.js';
import type { CallOptions } from '../../store/call-options.js';
import { OWN_EXTENSIONS, withExtensions } from '../../fhir/own-extensions.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { requireName, type ProjectContext, projectOperation } from '../session/project-context.js';
import { openProjectOfMember } from '../session/project-session.js';

/** The sessions to end: those of one membership, or those of a User in all projects. */
export type RevokedSessions = { readonly membership: ResourceRef } | { readonly user: ResourceRef };

/**
 * Ends all sessions that have begun so far. Callers in use end at their next check, within seconds and in all
 * processes, whatever the clocks say. `signIn(store, identity, { issuedAt })` refuses tokens that were issued before, or
 * in the 60 seconds after, and `signIn` without `issuedAt` refuses the member. The person can sign in again with a
 * newer token.
 *
 * Members can end their own sessions. Administrators can end the sessions of their project's members. Only
 * `serverCaller()` can end the sessions of a User, who may belong to other projects.
 *
 * @throws FhirError `forbidden` - the caller may not end these sessions
 * @throws FhirError `not-found` - no such membership in the caller's project, or no such User
 * @throws FhirError `invalid` - neither a membership nor a User is named
 *
 * @example
 * await revokeSessions({ membership: 'ProjectMembership/7' }, { store, caller });
 */
export function revokeSessions(sessions: RevokedSessions, context: ProjectContext): Promise<void> {
  return projectOperation(context, 'revoke-sessions', async (facts, bounded) => {
    const { store, caller, call } = bounded;
    assertCaller(caller);
    const { type, id } = nameOf(sessions);
    facts.targets = [{ type, id }];
    await currentCaller(store, caller, () => true, call);
    const now = bounded.clock?.() ?? new Date();
    const isOwn =
      caller.kind === 'member' && (type === 'User' ? caller.user === referenceTo(type, id) : caller.membership === id);
    if (type === 'User') {
      if (!isOwn && caller.kind !== 'server') {
        throw new FhirError('forbidden', 'Only the person itself and trusted code may end the sessions of a User');
      }
      const [user] = await guardStore(store, serverCaller()).read([{ type, id }], call);
      if (user?.status !== 'found') throw notFound({ type, id });
      const [record] = await store.read([revokedUserKey(id)], call);
      const before = record?.status === 'found' ? record.resource : undefined;
      await store.commit([revokeUser(id, revocationTime(before, now))], call);
      return;
    }
    const guard = isOwn
      ? guardStore(store, serverCaller(caller.project))
      : (await openProjectOfMember(id, bounded, 'update')).session.guard;
    await commitPlanned(guard, () => planRevocation(guard, id, now, call), call);
  });
}

async function planRevocation(guard: GuardedStore, id: string, now: Date, call: CallOptions): Promise<PlannedWrites> {
  const key = { type: 'ProjectMembership', id };
  const [found] = await guard.read([key], call);
  if (found?.status !== 'found') throw notFound(key);
  const valueInstant = revocationTime(found.resource, now);
  const resource = withExtensions(found.resource, OWN_EXTENSIONS.sessionsNotBefore, [{ valueInstant }]);
  return { writes: [{ kind: 'put', key, resource, expect: { version: found.versionId } }] };
}

/** @throws FhirError `invalid` */
function nameOf(sessions: RevokedSessions): { readonly type: 'ProjectMembership' | 'User'; readonly id: string } {
  const named = (sessions ?? {}) as { readonly membership?: ResourceRef; readonly user?: ResourceRef };
  return 'user' in named
    ? { type: 'User', id: requireName(named.user, 'User') }
    : { type: 'ProjectMembership', id: requireName(named.membership, 'ProjectMembership') };
}
