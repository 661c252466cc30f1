import type { Bundle, Resource } from '@medplum/fhirtypes';
import { type AccessTrace, tracedBy } from '../access/access-trace.js';
import { assertCaller } from '../access/caller.js';
import { type InCall, operation } from '../access/operation.js';
import type { GuardedKey } from '../access/contract.js';
import { guardStore } from '../access/guarded-store.js';
import type { AuditTarget, RestInteraction } from '../audit/audit-record.js';
import type { AuditFacts } from '../audit/audit.js';
import { maskError } from '../fhir/error.js';
import { copyBundleForHost, copyForHost } from '../fhir/json/copy-json.js';
import { withoutOwnMeta, withoutOwnMetaInside } from '../fhir/own-extensions.js';
import { elementsOf, isJsonObject, type AnyResource } from '../fhir/resource.js';
import { carryOutWrites } from '../interactions/carry-out-writes.js';
import { assertReadable, requireFound } from '../interactions/interaction-session.js';
import type { WriteOutcome, WriteRequest } from '../interactions/write-request.js';
import type { ProfileChoice } from '../profiles/validate-profiles.js';
import { serviceBaseUrl } from '../store/store.js';
import type { RepositoryContext, RepositorySession } from './repository.js';

/** A resource that was written, or found by the condition of a create; a copy of the caller's own. */
export interface WrittenResource {
  readonly status: 'created' | 'updated' | 'matched';
  readonly resource: AnyResource;
}

/** The parts that all interactions of a repository share: the audit trail, limits, copies for the caller. */
export interface OpenRepository {
  readonly context: RepositoryContext;
  /** Of links, without a trailing slash. */
  readonly baseUrl: string | undefined;
  /**
   * Runs an interaction under the limits of the context, each with a session of its own, and audits it.
   *
   * @param target undefined: all types
   * @param profiles those of this write, instead of the context's
   */
  interact<Result>(
    interaction: RestInteraction,
    target: AuditTarget | undefined,
    work: (facts: AuditFacts, session: RepositorySession) => Promise<Result>,
    profiles?: ProfileChoice,
  ): Promise<Result>;
  /** Runs an interaction with one resource and audits the resulting version. @returns a copy */
  withResource(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts, session: RepositorySession) => Promise<AnyResource>,
  ): Promise<AnyResource>;
  /** The same for a write. */
  withWrite(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts, session: RepositorySession) => Promise<WriteOutcome | undefined>,
    profiles?: ProfileChoice,
  ): Promise<WrittenResource>;
  /** Carries out one write. */
  write(request: WriteRequest, session: RepositorySession): Promise<WriteOutcome | undefined>;
  /** A private copy of a resource for the caller. */
  copy(resource: AnyResource): AnyResource;
  /** A private copy of a Bundle for the caller. */
  bundle<Content extends Resource>(made: object): Promise<Bundle<Content>>;
}

/**
 * @throws FhirError `unauthenticated` - there is no caller
 * @throws FhirError `invalid` - the base URL is not that of the store
 */
export function openRepository(context: RepositoryContext): OpenRepository {
  assertCaller(context.caller);
  const { extendedMeta = false, resolveIdentifiers } = context;
  const baseUrl = serviceBaseUrl(context);
  const open = (
    { store, caller, call, profiles }: InCall<RepositoryContext>,
    trace?: AccessTrace,
  ): RepositorySession => ({
    store: guardStore(store, caller, { trace, profiles }),
    options: call,
    baseUrl,
    trace,
    resolveIdentifiers,
  });
  const interact: OpenRepository['interact'] = (interaction, target, work, profiles) => {
    const facts: AuditFacts = { targets: target === undefined ? [] : [target] };
    const trace = tracedBy(context, facts);
    const run = (bounded: InCall<RepositoryContext>) =>
      work(facts, open(profiles === undefined ? bounded : { ...bounded, profiles }, trace));
    return operation(context, interaction, run, { facts }).catch(failAsFhirError);
  };
  const copy = (resource: AnyResource): AnyResource => copyForHost(extendedMeta ? resource : withoutOwnMeta(resource));
  return {
    context,
    baseUrl,
    interact,
    copy,
    withResource: (interaction, target, work) =>
      interact(interaction, target, async (facts, session) => {
        const resource = await work(facts, session);
        facts.targets = [targetOf(resource)];
        session.trace?.show(resource);
        return copy(resource);
      }),
    withWrite: (interaction, target, work, profiles) =>
      interact(
        interaction,
        target,
        async (facts, session) => {
          const outcome = await work(facts, session);
          if (outcome === undefined || outcome.status === 'deleted') {
            throw new TypeError('What is created, updated or patched is a resource');
          }
          facts.targets = [targetOf(outcome.resource)];
          if (!('unreadable' in outcome && outcome.unreadable === true)) session.trace?.show(outcome.resource);
          return { status: outcome.status, resource: copy(outcome.resource) };
        },
        profiles,
      ),
    write: async (request, session) => (await carryOutWrites([request], session))[0],
    bundle: (made) => copyBundleForHost((extendedMeta ? made : withoutOwnMetaInside(made)) as Bundle<never>),
  };
}

/** A fault of the store or of this library is `internal`, with the fault as its cause. */
export function failAsFhirError(error: unknown): never {
  throw maskError(error);
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

/** @throws FhirError `not-found`, `gone` */
export async function readResource(key: GuardedKey, session: RepositorySession): Promise<AnyResource> {
  assertReadable(session.store.model, key);
  const [found] = await session.store.read([key], session.options);
  return requireFound(found, key).resource;
}
