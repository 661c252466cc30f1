import { FhirError } from '../../fhir/error.js';
import { referenceText, referenceTo, splitReference } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject } from '../../fhir/resource.js';
import { refersTo, and, notLastUpdatedAt, or, type Criteria } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { type ResourceKey, SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { Caller, MemberCaller } from '../caller.js';
import { withIndex } from '../contract.js';
import { readsAll } from '../decide.js';
import { directoryEntry, directoryRemoval } from './membership-records.js';
import { type AddedWrite, writtenKey, type ReadyWrite } from './ready-write.js';
import { subscriptionWrites } from './subscription-write.js';

/** The writes that precede the write of a resource in its commit, for every caller. */
export function sideWritesOfPut(
  key: ResourceKey,
  caller: Caller,
  from: number,
  resource: AnyResource,
): readonly AddedWrite[] {
  if (key.type === 'Subscription') return subscriptionWrites(key, from, caller, false);
  return key.type === 'ProjectMembership' ? directoryEntry(key, from, resource) : [];
}

/**
 * The writes that precede a deletion in its commit, for every caller.
 *
 * @param before the resource; null if it does not exist
 */
export function sideWritesOfDelete(
  key: ResourceKey,
  caller: Caller,
  from: number,
  before: AnyResource | null,
): readonly AddedWrite[] {
  if (key.type === 'Subscription') return subscriptionWrites(key, from, caller, true);
  return key.type === 'ProjectMembership' ? directoryRemoval(key, from, before) : notInUseAsProfile(key, caller, from);
}

/**
 * Adds a check before each write of a Binary: no member may write the code of a Bot. Bots have their own rights and are
 * changed through administrators' operations only: new code is a new Binary, to which an administrator points the Bot.
 *
 * The check runs inside the commit, so that concurrent changes of Bots count.
 */
export function withCodeChecks(caller: Caller, writes: readonly ReadyWrite[]): readonly ReadyWrite[] {
  if (caller.kind !== 'member') return writes;
  return writes.flatMap((ready) => {
    const key = writtenKey(ready);
    return key?.type === 'Binary' ? [isNoCode(caller, key, ready.from), ready] : [ready];
  });
}

function isNoCode({ project }: MemberCaller, key: ResourceKey, from: number): AddedWrite {
  return {
    role: 'added',
    write: { kind: 'assert-no-match', query: { project, type: 'Bot', criteria: refersTo('code-binary', key) } },
    from,
    // The message does not name the Bot, because not every caller may see it.
    refusal: () =>
      new FhirError(
        'forbidden',
        `Not allowed to write Binary/${key.id}, which is the code of a Bot; make another Binary and have the Bot name it`,
      ),
  };
}

/** Loads the Project, which {@link withPolicyChecks} needs if the writes delete a policy. */
export async function loadPolicyUser(
  store: ResourceStore,
  { project }: Caller,
  writes: readonly ReadyWrite[],
  options: CallOptions | undefined,
): Promise<ReadResult | undefined> {
  if (!writes.some(deletesPolicy)) return undefined;
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  return found;
}

/**
 * Adds checks for AccessPolicies to the writes of a commit, run inside the commit:
 *
 * - Members cannot write a policy of their own membership; restricted members cannot write those of their User's other
 * memberships either.
 * - A policy that a membership names, or the Project among its defaults, is not deleted: its members could not sign in.
 *
 * @throws FhirError `conflict` - the Project names a policy that is to be deleted
 */
export function withPolicyChecks(
  caller: Caller,
  writes: readonly ReadyWrite[],
  project: ReadResult | undefined,
): readonly ReadyWrite[] {
  return writes.flatMap((ready) => {
    const key = writtenKey(ready);
    if (key?.type !== 'AccessPolicy') return [ready];
    const { from } = ready;
    return [
      ...(caller.kind === 'member' ? [bindsNotItself(caller, key, from)] : []),
      ...(deletesPolicy(ready) ? [namedByNoMembership(key, from), ...namedByNoProject(project, key, from)] : []),
      ready,
    ];
  });
}

function deletesPolicy(ready: ReadyWrite): boolean {
  return ready.role === 'own' && ready.write.kind === 'delete' && ready.write.key.type === 'AccessPolicy';
}

/** Restricted members cannot change the policies of their other memberships: they could sign in through them. */
function bindsNotItself(
  { project, membership, user, bound }: MemberCaller,
  key: ResourceKey,
  from: number,
): AddedWrite {
  const itself: Criteria = { kind: 'id', ids: [membership] };
  const own = bound ? or([itself, refersTo('user', splitReference(user))]) : itself;
  const criteria = and([own, refersTo('access-policy', key)]);
  const refusal = (): FhirError =>
    new FhirError(
      'forbidden',
      `Not allowed to write ${nameOf(key)}, which binds the caller; ask another administrator`,
    );
  return {
    role: 'added',
    write: { kind: 'assert-no-match', query: { project, type: 'ProjectMembership', criteria } },
    from,
    refusal,
  };
}

function namedByNoMembership(key: ResourceKey, from: number): AddedWrite {
  const query = { project: key.project, type: 'ProjectMembership', criteria: refersTo('access-policy', key) };
  return { role: 'added', write: { kind: 'assert-no-match', query }, from, refusal: (holder) => inUse(key, holder) };
}

/**
 * No search parameter leads from a Project to its policies, so the Project is read, and must be unchanged at commit.
 */
function namedByNoProject(found: ReadResult | undefined, key: ResourceKey, from: number): readonly AddedWrite[] {
  const { project } = key;
  if (found?.status !== 'found') return [];
  const { defaultAccessPolicies: listed, defaultPatientAccessPolicy } = elementsOf(found.resource);
  const defaults = (Array.isArray(listed) ? listed.filter(isJsonObject) : []).map((one) => one['accessPolicy']);
  if ([...defaults, defaultPatientAccessPolicy].some((one) => referenceText(one) === nameOf(key))) {
    throw withIndex(inUse(key, referenceTo('Project', project)), from);
  }
  const criteria = and([{ kind: 'id', ids: [project] }, notLastUpdatedAt(found.lastUpdated)]);
  const query = { project: SERVER_SCOPE, type: 'Project', criteria };
  return [{ role: 'added', write: { kind: 'assert-no-match', query }, from, refusal: 'decide again' }];
}

/** Only administrators and trusted code delete policies, and both see what may name one. */
function inUse(key: ResourceKey, user: string): FhirError {
  return new FhirError(
    'conflict',
    `${nameOf(key)} is used by ${user} and cannot be deleted; give ${user.startsWith('Project/') ? 'the project other defaults' : 'the member other access'} first`,
    { details: { usedBy: user } },
  );
}

function nameOf({ type, id }: ResourceKey): string {
  return referenceTo(type, id);
}

/** Types that a membership may have as its profile. */
export const PROFILE_TYPES: ReadonlySet<string> = new Set([
  'Patient',
  'Practitioner',
  'RelatedPerson',
  'ClientApplication',
  'Bot',
]);

/** A profile that a membership references is not deleted: without it the member could not sign in. */
export function notInUseAsProfile(key: ResourceKey, caller: Caller, from: number): readonly AddedWrite[] {
  if (!PROFILE_TYPES.has(key.type)) return [];
  const query = { project: caller.project, type: 'ProjectMembership', criteria: refersTo('profile', key) };
  // Only callers who read memberships learn which one it is.
  const mayName = readsAll(caller, 'ProjectMembership');
  const refusal = (holder: string): FhirError =>
    new FhirError(
      'conflict',
      `${referenceTo(key.type, key.id)} is the profile of ${mayName ? holder : 'a member'} and cannot be deleted; remove the member first`,
      mayName ? { details: { membership: holder } } : {},
    );
  return [{ role: 'added', write: { kind: 'assert-no-match', query }, from, refusal }];
}
