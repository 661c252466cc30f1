import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject } from '../../fhir/resource.js';
import { and, notLastUpdatedAt, or, refersTo, type Criteria } from '../../search/criteria/criteria.js';
import { SERVER_SCOPE, type CallOptions, type ResourceKey, type ResourceStore } from '../../store/store.js';
import type { Caller, MemberCaller } from '../caller.js';
import type { ReadyWrite } from './ready-write.js';
import { withIndex } from '../write-error.js';

/**
 * The writes of a commit with what else must hold for its AccessPolicies, decided in the commit itself:
 *
 * - Nobody writes a policy that its own membership names, as that is now; who is bound by policies, none that another
 *   membership of its User names either.
 * - A policy that a membership names, or the Project among its defaults, is not deleted: its members could not sign in.
 *
 * @throws FhirError `conflict` - the Project names a policy that is to be deleted
 */
export async function withPolicyChecks(
  store: ResourceStore,
  caller: Caller,
  writes: readonly ReadyWrite[],
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  const checked: ReadyWrite[] = [];
  for (const ready of writes) {
    const { write, from } = ready;
    if (write.kind !== 'unmatched' && write.key.type === 'AccessPolicy') {
      if (caller.kind === 'member') checked.push(bindsNotItself(caller, write.key, from));
      if (write.kind === 'delete') {
        checked.push(namedByNoMembership(write.key, from));
        checked.push(...(await namedByNoProject(store, write.key, from, options)));
      }
    }
    checked.push(ready);
  }
  return checked;
}

/** Who is bound has no hand in the policies of its other memberships either: it could sign in through them. */
function bindsNotItself(
  { project, membership, user, bound }: MemberCaller,
  key: ResourceKey,
  from: number,
): ReadyWrite {
  const [type, id] = user.split('/') as [string, string];
  const itself: Criteria = { kind: 'id', ids: [membership] };
  const own = bound ? or([itself, refersTo('user', { type, id })]) : itself;
  const criteria = and([own, refersTo('access-policy', key)]);
  return {
    write: { kind: 'unmatched', query: { project, type: 'ProjectMembership', criteria } },
    from,
    rulesForAnswer: [],
    refusal: () =>
      new FhirError(
        'forbidden',
        `Not allowed to write ${nameOf(key)}, which binds the caller; ask another administrator`,
      ),
  };
}

function namedByNoMembership(key: ResourceKey, from: number): ReadyWrite {
  const query = { project: key.project, type: 'ProjectMembership', criteria: refersTo('access-policy', key) };
  return { write: { kind: 'unmatched', query }, from, rulesForAnswer: [], refusal: (holder) => inUse(key, holder) };
}

/** No search parameter leads from a Project to its policies, so it is read, and must stay as it was. */
async function namedByNoProject(
  store: ResourceStore,
  key: ResourceKey,
  from: number,
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  const { project } = key;
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id: project }], options);
  if (found?.status !== 'found') return [];
  const { defaultAccessPolicies: listed, defaultPatientAccessPolicy } = elementsOf(found.resource);
  const defaults = (Array.isArray(listed) ? listed.filter(isJsonObject) : []).map((one) => one['accessPolicy']);
  const named = [...defaults, defaultPatientAccessPolicy].some(
    (one) => isJsonObject(one) && one['reference'] === nameOf(key),
  );
  if (named) throw withIndex(inUse(key, `Project/${project}`), from);
  const criteria = and([{ kind: 'id', ids: [project] }, notLastUpdatedAt(found.lastUpdated)]);
  const query = { project: SERVER_SCOPE, type: 'Project', criteria };
  return [{ write: { kind: 'unmatched', query }, from, rulesForAnswer: [], refusal: 'decide again' }];
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
