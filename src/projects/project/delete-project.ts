import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { revokedUserKey } from '../../access/sign-in/member.js';
import { FORMER_MEMBERSHIPS, invitationKey } from '../../access/write/membership-records.js';
import { recordsOf, SUBSCRIPTIONS } from '../../access/write/subscription-write.js';
import { assertNotAuditLog } from '../../audit/log/chain.js';
import { FhirError } from '../../fhir/error.js';
import { nameToId, referenceTo } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import { ALL, type Criteria, refersTo } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import { everyHistoryPage, everyMatch } from '../../store/every-page.js';
import { type ResourceKey, SERVER_SCOPE } from '../../store/resource-key.js';
import { requireRemoval, type StoreReads } from '../../store/store.js';
import type { EraseWrite, Write } from '../../store/write.js';
import {
  assertMayChange,
  assertNotOfOperators,
  openOperator,
  type OperatorSession,
  readStoredProject,
  requireProjectId,
} from '../session/operator.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { isBeingDeleted, markedForDeletion } from './read-project.js';
import { writeProject } from './update-project.js';

/** The options of a deletion. */
export interface ProjectDeletion {
  /** The exact name of the project, as a confirmation. */
  readonly name: string;
  /**
   * Whether to overwrite the remains of removed data in the store's files at the end, which takes as long as copying
   * the store. Default true. If false, call `store.removal.scrub()` later.
   */
  readonly scrub?: boolean | undefined;
  /** Called after each step. An error thrown here ends the deletion, which can be resumed. */
  readonly onProgress?: ((progress: DeletionProgress) => void) | undefined;
}

/** The removals of this call so far. */
export interface DeletionProgress {
  readonly resources: number;
  readonly versions: number;
}

/** The result of a deletion. */
export interface DeletedProject extends DeletionProgress {
  /** `Project/1`. */
  readonly project: string;
}

/**
 * Deletes a project with everything in it: resources of all types with all their versions and index values,
 * memberships, policies, clients and Bots, invitations, and Users that belong to the project alone. Users above
 * projects stay. A tombstone of the Project without content stays, so that its id is never used again.
 *
 * It first closes the project for good: nobody can open or change it any more. If it is interrupted, the same call
 * resumes it. At the end it searches every type, and only an empty project counts as deleted.
 *
 * For super administrators and `serverCaller()`; a super-admin project only for `serverCaller()`. A super administrator
 * whose membership names access policies needs a rule without conditions that grants `delete` on Project.
 *
 * @returns the number of removed resources and versions
 * @throws FhirError `forbidden` - the caller may not delete the project
 * @throws FhirError `not-found`, `gone` - there is no such project, or it is deleted already
 * @throws FhirError `precondition-failed` - the name differs
 * @throws FhirError `forbidden` - it is the project of the audit log
 * @throws FhirError `unsupported` - the store cannot remove for good
 * @throws FhirError `unavailable` - other processes keep writing to the project, or read an old state of the store
 *
 * @example
 * await deleteProject('clinic', { name: 'North Clinic' }, { store, caller });
 */
export function deleteProject(
  project: ResourceRef,
  deletion: ProjectDeletion,
  context: ProjectContext,
): Promise<DeletedProject> {
  return projectOperation(context, 'delete-project', async (facts, bounded) => {
    const session = await openOperator(bounded, 'Project.delete', 'delete projects');
    const id = requireProjectId(project);
    facts.targets = [{ type: 'Project', id }];
    assertNotAuditLog(id);
    requireRemoval(bounded.store);
    await closeForGood(session, id, deletion.name);
    const run = new DeletionRun(session, id, deletion.onProgress);
    await run.removeAll();
    facts.results = run.progress.resources;
    if (deletion.scrub !== false) await requireRemoval(session.writes).scrub(session.options);
    return { project: referenceTo('Project', id), ...run.progress };
  });
}

async function closeForGood(session: OperatorSession, id: string, name: unknown): Promise<void> {
  const [found] = await session.store.read([{ project: SERVER_SCOPE, type: 'Project', id }], session.options);
  if (found?.status === 'gone') throw new FhirError('gone', `Project/${id} is deleted`);
  await writeProject(session, id, (before) => {
    assertMayChange(session, before);
    assertNotOfOperators(session, before, 'delete');
    if (before.name !== name) {
      throw new FhirError('precondition-failed', `Project/${id} has another name; its deletion needs its exact name`);
    }
    return isBeingDeleted(before) ? before : markedForDeletion(before);
  });
}

/** The removals of one call. */
class DeletionRun {
  resources = 0;
  versions = 0;

  constructor(
    private readonly session: OperatorSession,
    private readonly id: string,
    private readonly onProgress: ((progress: DeletionProgress) => void) | undefined,
  ) {}

  get progress(): DeletionProgress {
    return { resources: this.resources, versions: this.versions };
  }

  async removeAll(): Promise<void> {
    const { session, id } = this;
    for (let attempt = 1; ; attempt++) {
      // These come before the memberships that name them.
      for await (const keys of memberTraces(session.store, id, session.options)) await this.#erase(keys);
      await this.#removeResources();
      // Resources above projects that point to the project, with the traces of removed memberships.
      await this.#eraseAll(SERVER_SCOPE, 'ProjectMembership', refersTo('project', { type: 'Project', id }));
      await this.#eraseAll(FORMER_MEMBERSHIPS, 'ProjectMembership', refersTo('project', { type: 'Project', id }));
      await this.#eraseAll(SERVER_SCOPE, 'User', refersTo('project', { type: 'Project', id }));
      await this.#eraseAll(SUBSCRIPTIONS, 'Basic', recordsOf(id));
      const left = await this.#typeLeft();
      if (left === undefined) break;
      if (attempt < ATTEMPTS) continue;
      throw new FhirError(
        'unavailable',
        `Others keep writing ${left} resources to Project/${id}; stop them, then try again`,
      );
    }
    // The last step, so that an interrupted deletion can be resumed through the Project.
    await readStoredProject(session, id);
    await this.#erase([{ project: SERVER_SCOPE, type: 'Project', id }]);
  }

  async #removeResources(): Promise<void> {
    const { writes, options } = this.session;
    for (;;) {
      const { resources, versions, done } = await requireRemoval(writes).removeProject(this.id, options);
      this.#note(resources, versions);
      if (done) return;
    }
  }

  /** Erases everything that matches, with tombstones: ids above projects are not used again. */
  async #eraseAll(project: string, type: string, criteria: Criteria): Promise<void> {
    const { store, options } = this.session;
    for (;;) {
      const { matches } = await store.search({ project, type, criteria, limit: AT_ONCE }, options);
      if (matches.length === 0) return;
      const ids = matches.map(({ resource }) => resource.id!);
      await this.#erase(ids.map((id) => ({ project, type, id })));
      if (type === 'User') await this.#erase(ids.map(revokedUserKey));
      if (project === SUBSCRIPTIONS) await this.#erase(ids.map((id) => ({ project, type: 'Parameters', id })));
    }
  }

  async #erase(keys: readonly EraseWrite['key'][]): Promise<void> {
    const { writes, options } = this.session;
    const erasures = keys.map((key): Write => ({ kind: 'erase', key, reason: 'project-deleted' }));
    const results = await writes.commit(erasures, options);
    options.onWritten?.();
    const removed = results.flatMap((result) =>
      result.kind === 'erase' && result.versions > 0 ? result.versions : [],
    );
    this.#note(
      removed.length,
      removed.reduce((sum, versions) => sum + versions, 0),
    );
  }

  /** A type with at least one resource. */
  async #typeLeft(): Promise<string | undefined> {
    const { store, options } = this.session;
    for (const type of store.model.resourceTypes) {
      const query = { project: this.id, type, criteria: { kind: 'all' } as const, limit: 1 };
      const { matches } = await store.search(query, options);
      if (matches.length > 0) return type;
    }
    return undefined;
  }

  #note(resources: number, versions: number): void {
    this.resources += resources;
    this.versions += versions;
    this.onProgress?.(this.progress);
  }
}

const AT_ONCE = 100;
const ATTEMPTS = 3;

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
async function* memberTraces(
  store: StoreReads,
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
  store: StoreReads,
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
  store: StoreReads,
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
