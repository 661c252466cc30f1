import type { Project } from '@medplum/fhirtypes';
import { assertCaller, type Caller, serverCaller } from '../../access/caller.js';
import type { GuardedStore } from '../../access/contract.js';
import { guardStore } from '../../access/guarded-store.js';
import { leavesOffice } from '../../access/narrow/narrowed-caller.js';
import type { SuperAdminPower } from '../../access/policy/policy-grant.js';
import { ALL_INTERACTIONS, type Interaction } from '../../access/rule.js';
import { currentCaller, writesWhile } from '../../access/sign-in/current-caller.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { InCall } from '../../access/operation.js';
import { FhirError } from '../../fhir/error.js';
import { nameToId, notFound } from '../../fhir/reference.js';
import { elementsOf } from '../../fhir/resource.js';
import type { CommitOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { StoreReads, StoreWrites } from '../../store/store.js';
import type { ProjectContext } from './project-context.js';

/**
 * A right over projects as a whole. `all`: only trusted code above projects and super administrators without access
 * policies have it, because it reaches everything in a project.
 */
type OperatorRight = SuperAdminPower | 'all';

/** An operation on projects as a whole, by a caller who may carry it out. */
export interface OperatorSession {
  readonly caller: Caller;
  /** Everything there is. */
  readonly store: StoreReads;
  /** Each commit and removal confirms the caller's rights. */
  readonly writes: StoreWrites;
  /** A project as trusted code sees it; without one, what is above projects. */
  readonly guardOf: (project?: string) => GuardedStore;
  readonly options: CommitOptions;
  readonly extendedMeta: boolean;
}

/**
 * Opens a session for those who operate the service. Callers without the right are rejected before any look-up; then
 * their membership is read again, since rights may have been revoked since sign-in.
 *
 * @param what the operation, for the message: `delete projects`
 * @throws FhirError `unauthenticated`, `forbidden`, and the codes of signing in
 */
export async function openOperator(
  context: InCall<ProjectContext>,
  right: OperatorRight,
  what: string,
): Promise<OperatorSession> {
  const { store, caller, call, extendedMeta = false } = context;
  assertCaller(caller);
  const may = (now: Caller): boolean => mayOperate(now, right);
  if (!may(caller)) {
    const who = right === 'all' ? 'super administrators without access policies' : 'super administrators';
    throw new FhirError('forbidden', `Only ${who} and trusted code may ${what}`);
  }
  const current = await currentCaller(store, caller, may, call);
  const writes = writesWhile(store, caller, may);
  const guardOf = (project?: string): GuardedStore => guardStore(store, serverCaller(project), { writes });
  return { caller: current, store, writes, guardOf, options: call, extendedMeta };
}

export function mayOperate(caller: Caller, right: OperatorRight): boolean {
  if (caller.kind !== 'member') return caller.kind === 'server';
  if (!caller.superAdmin) return false;
  // A narrowed caller needs a scope for its operation, and for the right `all` a scope for every interaction.
  const asked = right === 'all' ? ALL_INTERACTIONS : [right.slice(right.indexOf('.') + 1) as Interaction];
  const type = right === 'all' ? 'Project' : right.slice(0, right.indexOf('.'));
  if (!asked.every((interaction) => leavesOffice(caller, type, interaction))) return false;
  return right === 'all' ? caller.powers === undefined : (caller.powers?.has(right) ?? true);
}

/** @throws FhirError `invalid` - the project is not named by an id */
export function requireProjectId(project: ResourceRef): string {
  const id = nameToId(project, 'Project');
  if (id !== undefined) return id;
  throw new FhirError('invalid', 'The project must be named by its id, Project/id or a Reference');
}

/** The Project as stored, with its secrets. @throws FhirError `not-found` */
export async function readStoredProject(
  { store, options }: OperatorSession,
  id: string,
): Promise<{ readonly project: Project; readonly versionId: string }> {
  const [found] = await store.read([{ project: SERVER_SCOPE, type: 'Project', id }], options);
  if (found?.status !== 'found') throw notFound({ type: 'Project', id });
  return { project: found.resource as Project, versionId: found.versionId };
}

/**
 * Keeps callers bound by access policies away from projects whose members have super-admin powers.
 *
 * @throws FhirError `forbidden`
 */
export function assertMayChange({ caller }: OperatorSession, project: Project): void {
  if (caller.kind !== 'member' || caller.powers === undefined || !isSuperAdminProject(project)) return;
  throw new FhirError(
    'forbidden',
    'Only super administrators without access policies may change a super-admin project',
  );
}

/**
 * Nobody closes a super-admin project from inside. A person who is locked out could not be let in again.
 *
 * @param what the operation, for the message: `delete`
 * @throws FhirError `forbidden`
 */
export function assertNotOfOperators({ caller }: OperatorSession, project: Project, what: string): void {
  if (caller.kind === 'server' || !isSuperAdminProject(project)) return;
  throw new FhirError('forbidden', `Only trusted code may ${what} a super-admin project`);
}

function isSuperAdminProject(project: Project): boolean {
  return elementsOf(project)['superAdmin'] === true;
}
