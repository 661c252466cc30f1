import { assertCaller, type Caller, serverCaller, homeOf } from '../../access/caller.js';
import { isAboveProjects } from '../../access/fields/administrative-types.js';
import { currentCaller, writesWhile } from '../../access/sign-in/current-caller.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { InCall } from '../../access/operation.js';
import { assertNotAuditLog } from '../../audit/log/chain.js';
import { FhirError } from '../../fhir/error.js';
import { requireRemoval, type StoreReads, type StoreWrites } from '../../store/store.js';
import type { CommitOptions } from '../../store/call-options.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import { mayOperate, requireProjectId } from '../session/operator.js';
import type { ProjectContext } from '../session/project-context.js';

/**
 * The reasons for an erasure. The list is closed, so that a tombstone can never repeat erased content. Use `requestId`
 * to link the audit record to a case.
 */
export const ERASURE_REASONS = [
  /** The person asked for it. */
  'patient-request',
  'consent-withdrawn',
  'court-order',
  /** The time for which it had to be kept is over. */
  'retention-ended',
  'entered-in-error',
  'test-data',
  'other',
] as const;

/** One of {@link ERASURE_REASONS}. */
export type ErasureReason = (typeof ERASURE_REASONS)[number];

/** The context of removals for good inside a project. */
export interface RemovalContext extends ProjectContext {
  /** The project. Default: the caller's project. */
  readonly project?: ResourceRef | undefined;
  /**
   * Whether to overwrite the remains of removed data in the store's files at the end, which takes as long as copying
   * the store. If false, call `store.removal.scrub()` later.
   */
  readonly scrub?: boolean | undefined;
}

/** The context of erasures. */
export interface ErasureContext extends RemovalContext {
  readonly reason: ErasureReason;
}

/** A project opened for removal for good. */
export interface ErasureSession {
  /** The id of the project; `''` for resources above projects. */
  readonly project: string;
  readonly store: StoreReads;
  readonly writes: StoreWrites;
  readonly options: CommitOptions;
}

/**
 * Opens a project for callers who may remove for good: trusted code of the project, `serverCaller()`, and super administrators
 * without access policies. Their membership is read again, here and with every step.
 *
 * @throws FhirError `unauthenticated`, `forbidden`, and the codes of signing in
 * @throws FhirError `forbidden` - the project is that of the audit log
 * @throws FhirError `unsupported` - the store cannot remove for good
 */
export async function openErasure(context: InCall<RemovalContext>, what: string): Promise<ErasureSession> {
  const { store, caller, call } = context;
  assertCaller(caller);
  const may = (now: Caller): boolean => now.kind === 'system' || mayOperate(now, 'all');
  const who = 'trusted code and super administrators without access policies';
  if (!may(caller)) throw new FhirError('forbidden', `Only ${who} may ${what}`);
  const project = context.project === undefined ? caller.project : requireProjectId(context.project);
  if (caller.kind === 'system' && project !== caller.project) {
    throw new FhirError('forbidden', 'Trusted code of one project removes nothing of other projects');
  }
  assertNotAuditLog(project);
  await currentCaller(store, caller, may, call);
  requireRemoval(store);
  return { project, store, writes: writesWhile(store, caller, may), options: call };
}

/** The scope of a type. @throws FhirError `forbidden` - the caller may not erase there */
export function scopeOf(session: ErasureSession, caller: Caller, type: string): string {
  if (isAboveProjects(type)) {
    if (caller.kind !== 'system') return SERVER_SCOPE;
    throw new FhirError('forbidden', 'Trusted code of one project removes nothing above projects');
  }
  if (session.project === SERVER_SCOPE) throw new FhirError('invalid', 'The context must name the project');
  return homeOf(type, serverCaller(session.project));
}

/** @throws FhirError `invalid` - the reason is not in the list. The message does not repeat it. */
export function assertReason(reason: unknown): asserts reason is ErasureReason {
  if ((ERASURE_REASONS as readonly unknown[]).includes(reason)) return;
  throw new FhirError('invalid', `The reason of an erasure is one of ${ERASURE_REASONS.join(', ')}`);
}

export async function scrubUnless(session: ErasureSession, scrub: boolean): Promise<void> {
  if (scrub) await requireRemoval(session.writes).scrub(session.options);
}
