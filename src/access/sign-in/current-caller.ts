import { FhirError } from '../../fhir/error.js';
import { splitReference } from '../../fhir/reference.js';
import { and, type Criteria, not, notLastUpdatedAt } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { StoreRemoval } from '../../store/removal.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore, StoreWrites } from '../../store/store.js';
import { ATTEMPTS, Overtaken, withRetries } from '../../store/with-retries.js';
import type { Write, WriteResult } from '../../store/write.js';
import type { Caller, MemberCaller } from '../caller.js';
import { failedIndex, withIndex } from '../contract.js';
import { type CurrentMember, signInAgain } from './sign-in.js';

/** Whether a caller in its current state is still allowed to proceed. */
type StillMay = (caller: MemberCaller) => boolean;

/**
 * The caller with the current state of its membership. A caller has the rights of its sign-in; administrators grant
 * rights, so their operations are decided on current rights. Trusted code is returned unchanged.
 *
 * @throws FhirError `membership-missing`, `membership-inactive` and the other codes of signing in
 * @throws FhirError `forbidden` - signs in, but is no longer allowed to do this
 */
export async function currentCaller<Kind extends Caller>(
  store: ResourceStore,
  caller: Kind,
  stillMay: StillMay,
  call: CallOptions | undefined,
): Promise<Kind | MemberCaller> {
  return caller.kind !== 'member' ? caller : (await confirm(store, caller, stillMay, call)).caller;
}

/**
 * The writes of a caller, which require its current rights: its membership is read again before each commit, which fails
 * if that version is no longer current. For trusted code it returns the store itself.
 */
export function writesWhile(store: ResourceStore, caller: Caller, stillMay: StillMay): StoreWrites {
  if (caller.kind !== 'member') return store;
  return {
    removal: store.removal && removalWhile(store, caller, stillMay),
    async commit(writes, options): Promise<readonly WriteResult[]> {
      return withRetries({ attempts: ATTEMPTS.members, signal: options?.signal }, async () => {
        const checks = checksOf(await confirm(store, caller, stillMay, options));
        try {
          // Before the writes, which may change the caller's own membership.
          return (await store.commit([...checks, ...writes], options)).slice(checks.length);
        } catch (error) {
          const index = failedIndex(error);
          if (index === undefined) throw error;
          if (index >= checks.length) throw withIndex(error as FhirError, index - checks.length);
          return new Overtaken(
            new FhirError('unavailable', 'The membership of the caller keeps changing; try again', { cause: error }),
          );
        }
      });
    },
  };
}

/** Removals do not commit: rights are confirmed right before each step. */
function removalWhile(store: ResourceStore, caller: MemberCaller, stillMay: StillMay): StoreRemoval {
  const removal = store.removal!;
  return {
    async purgeHistory(request, options) {
      await confirm(store, caller, stillMay, options);
      return removal.purgeHistory(request, options);
    },
    async removeProject(project, options) {
      await confirm(store, caller, stillMay, options);
      return removal.removeProject(project, options);
    },
    // The data is already removed, so scrubbing its remains needs no rights.
    scrub: (options) => removal.scrub(options),
  };
}

async function confirm(
  store: ResourceStore,
  caller: MemberCaller,
  stillMay: StillMay,
  options: CallOptions | undefined,
): Promise<CurrentMember> {
  const now = await signInAgain(store, caller, options);
  if (stillMay(now.caller)) return now;
  throw new FhirError(
    'forbidden',
    'The caller may not do this any more: its membership has changed since it signed in',
  );
}

/** A commit can only assert that a search has no match. No two versions of a resource have the same `lastUpdated`. */
function checksOf({ caller, lastUpdated, isListed }: CurrentMember): Write[] {
  const { project, membership, profile } = caller;
  const itself: Criteria = { kind: 'id', ids: [membership] };
  const unchanged = { project, type: 'ProjectMembership', criteria: and([itself, notLastUpdatedAt(lastUpdated)]) };
  // A deleted membership no longer changes, so the check searches for a permanent resource, on the condition that the
  // membership is gone.
  const { type, id } = splitReference(profile);
  const there = isListed
    ? withoutMembership(SERVER_SCOPE, 'Project', project, 'project', itself)
    : withoutMembership(project, type, id, 'profile', itself);
  return [unchanged, there].map((query) => ({ kind: 'assert-no-match', query }));
}

function withoutMembership(
  project: string,
  type: string,
  id: string,
  parameter: string,
  membership: Criteria,
): { readonly project: string; readonly type: string; readonly criteria: Criteria } {
  const has: Criteria = { kind: 'has', type: 'ProjectMembership', parameter, of: membership };
  return { project, type, criteria: and([{ kind: 'id', ids: [id] }, not(has)]) };
}
