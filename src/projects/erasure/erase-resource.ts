import type { ResourceType } from '@medplum/fhirtypes';
import { type AccessTrace, tracedBy } from '../../access/access-trace.js';
import { membershipsOf } from '../../access/sign-in/find-membership.js';
import { recordKey } from '../../access/write/subscription-write.js';
import { FhirError } from '../../fhir/error.js';
import { notFound, referenceTo } from '../../fhir/reference.js';
import { isResourceId } from '../../fhir/resource.js';
import { SERVER_SCOPE, type ResourceKey } from '../../store/resource-key.js';
import { ShortPage, TextBudget } from '../../store/text-budget.js';
import { projectOperation } from '../session/project-context.js';
import { eraseKeys } from './erase-keys.js';
import {
  assertReason,
  type ErasureContext,
  type ErasureSession,
  openErasure,
  scopeOf,
  scrubUnless,
} from './erasure-session.js';

/** The result of an erasure. */
export interface ErasedResource {
  /** `Patient/1`. */
  readonly resource: string;
  /** The number of versions removed; 0 if it was erased before. */
  readonly versions: number;
  /** The version that is left, without content. */
  readonly versionId: string;
}

/**
 * Erases a resource for good: all its versions including deletions, its index values, and every copy that stores keep
 * in memory, also in other processes. A tombstone with the time and the reason stays: reads answer `gone`, the history
 * has one entry, and nothing can be written under the id again.
 *
 * References to it in other resources stay; `erasePatient` erases a patient with the compartment.
 *
 * For trusted code (`systemCaller(project)`, `serverCaller(project)`) and super administrators without access policies.
 *
 * @param context `scrub` is true by default
 * @throws FhirError `forbidden` - the caller may not erase, or the type has an operation of its own (Project)
 * @throws FhirError `not-found` - the resource never existed
 * @throws FhirError `conflict` - a member needs it as profile or User, or it is a membership that still exists
 * @throws FhirError `invalid` - the reason is not one of {@link ERASURE_REASONS}; an unknown type
 * @throws FhirError `unsupported` - the store cannot remove for good
 * @throws FhirError `unavailable` - another connection reads an old state; the resource is erased, but not scrubbed
 *
 * @example
 * await eraseResource('Observation', id, { store, caller: systemCaller('clinic'), reason: 'patient-request' });
 */
export function eraseResource(type: ResourceType, id: string, context: ErasureContext): Promise<ErasedResource> {
  return projectOperation(context, 'erase-resource', async (facts, bounded) => {
    const session = await openErasure(bounded, 'erase resources');
    const { reason, scrub = true } = bounded;
    assertReason(reason);
    if (!bounded.store.model.isResourceType(type)) throw new FhirError('invalid', 'Unknown resource type');
    if (!isResourceId(id)) throw new FhirError('invalid', 'The id must be 1 to 64 letters, digits, "-" or "."');
    facts.targets = [{ type, id }];
    facts.reason = reason;
    const key = { project: scopeOf(session, bounded.caller, type), type, id };
    await assertErasable(session, key);
    await noteContent(session, key, tracedBy(bounded, facts));
    const [erased] = await eraseKeys(session, [key, ...directoryOf(key)], reason);
    if (erased?.versionId == null) throw notFound({ type, id });
    facts.targets = [{ type, id, versionId: erased.versionId }];
    await scrubUnless(session, scrub);
    return { resource: referenceTo(type, id), versions: erased.versions, versionId: erased.versionId };
  });
}

async function assertErasable({ store, options }: ErasureSession, { project, type, id }: ResourceKey): Promise<void> {
  if (type === 'Project') throw new FhirError('forbidden', 'A Project is deleted by DELETE /admin/projects/[project]');
  if (type === 'User') {
    const [member] = await membershipsOf(store, { user: id }, options);
    if (member === undefined) return;
    const membership = referenceTo('ProjectMembership', member.membership.id!);
    throw new FhirError('conflict', `User/${id} is a member by ${membership}; remove the member first`);
  }
  if (type !== 'ProjectMembership') return;
  const [found] = await store.read([{ project, type, id }], options);
  if (found?.status !== 'found') return;
  throw new FhirError('conflict', `ProjectMembership/${id} is a member; remove the member first`);
}

/** The record names the patients of all versions, because after the erasure they are unknown. */
async function noteContent({ store, options }: ErasureSession, key: ResourceKey, trace?: AccessTrace): Promise<void> {
  if (trace === undefined) return;
  for (let offset = 0, total = 1; offset < total;) {
    const range = { offset, limit: PAGE, shortens: new ShortPage() };
    const page = await store.history(key, range, { ...options, budget: new TextBudget() });
    total = page.entries.length === 0 ? 0 : page.total;
    offset += page.entries.length;
    for (const entry of page.entries) if (entry.kind === 'put') trace.touch(entry.resource);
  }
}

const PAGE = 100;

/** The entry above the projects of a membership; the records of a Subscription. */
function directoryOf(key: ResourceKey): readonly ResourceKey[] {
  if (key.type === 'Subscription') return [recordKey('Basic', key), recordKey('Parameters', key)];
  return key.type === 'ProjectMembership' ? [{ ...key, project: SERVER_SCOPE }] : [];
}
