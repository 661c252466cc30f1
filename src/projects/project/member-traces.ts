import { revokedUserKey } from '../../access/sign-in/member.js';
import { invitationKey } from '../../access/write/membership-records.js';
import { nameToId } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { ALL } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { everyHistoryPage, everyMatch } from '../../store/every-page.js';
import { type ResourceKey, SERVER_SCOPE } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';

/** A membership as one of its versions has it. */
interface MemberVersion {
  readonly id: string;
  /** The id of its User. */
  readonly user: string | undefined;
}

/**
 * What members of a project leave above it, as keys in groups: the directory's memberships, invitations and, of Users that
 * belong to the project alone, the Users and the ends of their sessions. Removed members count too, where the store lists
 * the history of a type.
 */
export async function* memberTraces(
  store: ResourceStore,
  project: string,
  options: CallOptions | undefined,
): AsyncGenerator<readonly ResourceKey[]> {
  for await (const versions of memberVersions(store, project, options)) {
    const memberships = new Set(versions.map(({ id }) => id));
    const users = new Set(versions.flatMap(({ user }) => user ?? []));
    yield [...memberships].flatMap((id) => [aboveProjects('ProjectMembership', id), invitationKey(id)]);
    for (const user of users) {
      if (await isOfProject(store, user, project, options)) yield [aboveProjects('User', user), revokedUserKey(user)];
    }
  }
}

async function* memberVersions(
  store: ResourceStore,
  project: string,
  options: CallOptions | undefined,
): AsyncGenerator<readonly MemberVersion[]> {
  const ofType = { project, type: 'ProjectMembership' };
  if (store.typeHistory === undefined) {
    const search = { ...ofType, criteria: ALL };
    for await (const { resource } of everyMatch(PAGE, (page, budget) =>
      store.search({ ...search, ...page }, { ...options, budget }),
    )) {
      yield [versionOf(resource.id!, resource)];
    }
    return;
  }
  for await (const entries of everyHistoryPage(PAGE, (page, budget) =>
    store.typeHistory!({ ...ofType, ...page }, { ...options, budget }),
  )) {
    yield entries.map((entry) => versionOf(entry.id, entry.kind === 'put' ? entry.resource : undefined));
  }
}

function versionOf(id: string, membership: object | undefined): MemberVersion {
  return { id, user: membership && nameToId(elementsOf(membership as never)['user'], 'User') };
}

/** Whether a User belongs to the project; of a deleted one its last version decides. */
async function isOfProject(
  store: ResourceStore,
  user: string,
  project: string,
  options: CallOptions | undefined,
): Promise<boolean> {
  const { entries } = await store.history(aboveProjects('User', user), { offset: 0, limit: 2 }, options);
  const last = entries.find((entry) => entry.kind === 'put');
  return last?.kind === 'put' && nameToId(elementsOf(last.resource)['project'], 'Project') === project;
}

function aboveProjects(type: string, id: string): ResourceKey {
  return { project: SERVER_SCOPE, type, id };
}

const PAGE = 100;
