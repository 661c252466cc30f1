import type { Bundle, Resource } from '@medplum/fhirtypes';
import type { AuditFacts, AuditTarget, RestInteraction } from '../audit/audit.js';
import { audited } from '../access/audited.js';
import { guardStore } from '../access/guarded-store.js';
import { withoutOwnMeta, withoutOwnMetaInside } from '../fhir/own-meta.js';
import { trimBaseUrl } from '../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../fhir/resource.js';
import { carryOutWrites } from '../interactions/carry-out-writes.js';
import type { WriteOutcome, WriteRequest } from '../interactions/write-request.js';
import type { RepositoryContext, RepositorySession } from './repository-context.js';

/** A resource that was written, or found by the condition of a create; a copy of the caller's own. */
export interface WrittenResource {
  readonly status: 'created' | 'updated' | 'matched';
  readonly resource: AnyResource;
}

/** What all interactions of a repository share: the session, the audit trail, copies for the caller. */
export interface OpenRepository {
  readonly context: RepositoryContext;
  readonly session: RepositorySession;
  /** Runs an interaction and audits it. */
  interact<Result>(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts) => Promise<Result>,
  ): Promise<Result>;
  /** Runs an interaction with one resource and audits the resulting version. @returns a copy */
  withResource(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts) => Promise<AnyResource>,
  ): Promise<AnyResource>;
  /** The same for a write. */
  withWrite(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts) => Promise<WriteOutcome | undefined>,
  ): Promise<WrittenResource>;
  /** Carries out one write. */
  write(request: WriteRequest): Promise<WriteOutcome | undefined>;
  /** A Bundle as it goes to the caller: a copy. */
  bundle<Content extends Resource>(made: object): Bundle<Content>;
}

/** @throws FhirError `unauthenticated` - there is no caller */
export function openRepository(context: RepositoryContext): OpenRepository {
  const { store, caller, signal, extendedMeta = false } = context;
  const session: RepositorySession = {
    store: guardStore(store, caller, context.baseUrl),
    options: { signal },
    baseUrl: trimBaseUrl(context.baseUrl),
  };
  const interact: OpenRepository['interact'] = (interaction, target, work) =>
    audited(context, interaction, (facts) => {
      facts.targets = [target];
      return work(facts);
    });
  const copy = (resource: AnyResource): AnyResource =>
    structuredClone(extendedMeta ? resource : withoutOwnMeta(resource));
  return {
    context,
    session,
    interact,
    withResource: (interaction, target, work) =>
      interact(interaction, target, async (facts) => {
        const resource = await work(facts);
        facts.targets = [targetOf(resource)];
        return copy(resource);
      }),
    withWrite: (interaction, target, work) =>
      interact(interaction, target, async (facts) => {
        const outcome = await work(facts);
        if (outcome === undefined || outcome.status === 'deleted') {
          throw new TypeError('What is created, updated or patched is a resource');
        }
        facts.targets = [targetOf(outcome.resource)];
        return { status: outcome.status, resource: copy(outcome.resource) };
      }),
    write: async (request) => (await carryOutWrites([request], session))[0],
    bundle: (made) => structuredClone(extendedMeta ? made : withoutOwnMetaInside(made)) as Bundle<never>,
  };
}

/** The type of a resource that may be anything, for audit records. */
export function typeOf(resource: unknown): string {
  const type = isJsonObject(resource) ? resource['resourceType'] : undefined;
  return typeof type === 'string' ? type : '';
}

function targetOf(resource: AnyResource): AuditTarget {
  const { resourceType: type, id } = resource;
  const meta = elementsOf(resource)['meta'];
  const versionId = isJsonObject(meta) ? meta['versionId'] : undefined;
  return { type, id, ...(typeof versionId === 'string' ? { versionId } : {}) };
}
