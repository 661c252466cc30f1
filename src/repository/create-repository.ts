import type { Bundle, Resource } from '@medplum/fhirtypes';
import { type AuditFacts, type AuditTarget, type RestInteraction } from '../audit/audit.js';
import { audited } from '../access/audited.js';
import { underTimeout } from '../access/limits/under-timeout.js';
import { guardStore } from '../access/guarded-store.js';
import { trimBaseUrl } from '../fhir/reference.js';
import { elementsOf, isJsonObject, type AnyResource } from '../fhir/resource.js';
import { carryOutWrites } from '../interactions/carry-out-writes.js';
import type { WriteRequest } from '../interactions/write-request.js';
import { bundleTargets, carryOutBundle } from './carry-out-bundle.js';
import { withoutOwnMeta, withoutOwnMetaInside } from '../fhir/own-meta.js';
import { historyBundle } from './history-bundle.js';
import { readResource } from './read-resource.js';
import type { Repository } from './repository.js';
import type { RepositoryContext, RepositorySession } from './repository-context.js';
import { searchBundle } from './search-bundle.js';
import { auditedParameters } from './search-query.js';

/**
 * Opens the resources of the caller's project to the host's own code, under the caller's rights.
 *
 * @throws FhirError `unauthenticated` - there is no caller
 *
 * @example
 * const repository = createRepository({ store, caller: await signIn(store, { membership }) });
 * const patient = await repository.create({ resourceType: 'Patient', name: [{ family: 'Kulas' }] });
 */
export function createRepository(context: RepositoryContext): Repository {
  const { extendedMeta = false } = context;
  const baseUrl = trimBaseUrl(context.baseUrl);
  const open = ({ store, caller, signal }: RepositoryContext): RepositorySession => ({
    store: guardStore(store, caller, baseUrl),
    options: { signal },
    baseUrl,
  });
  const unlimited = open(context);
  const interact = <Result>(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (session: RepositorySession, facts: AuditFacts) => Promise<Result>,
  ): Promise<Result> =>
    audited(context, interaction, (facts) => {
      facts.targets = [target];
      return underTimeout(context, (bounded) => work(bounded === context ? unlimited : open(bounded), facts));
    });
  /** Runs an interaction with one resource and audits the resulting version. */
  const withResource = (
    interaction: RestInteraction,
    target: AuditTarget,
    work: (session: RepositorySession) => Promise<AnyResource>,
  ): Promise<never> =>
    interact(interaction, target, async (session, facts) => {
      const resource = await work(session);
      facts.targets = [targetOf(resource)];
      // The types of FHIR's resources are the caller's view of plain JSON; the type given decides which.
      return structuredClone(extendedMeta ? resource : withoutOwnMeta(resource)) as never;
    });
  const write = async (request: WriteRequest, session: RepositorySession): Promise<AnyResource> => {
    const [outcome] = await carryOutWrites([request], session);
    if (outcome !== undefined && 'resource' in outcome) return outcome.resource;
    throw new TypeError('What is created, updated or patched is a resource');
  };
  const bundle = <Content extends Resource>(made: object): Bundle<Content> =>
    structuredClone(extendedMeta ? made : withoutOwnMetaInside(made)) as Bundle<Content>;

  return {
    create: (resource, { ifNoneExist } = {}) =>
      withResource('create', { type: typeOf(resource) }, (session) =>
        write({ interaction: 'create', resource, ifNoneExist }, session),
      ),
    read: (type, id) => withResource('read', { type, id }, (session) => readResource({ type, id }, session)),
    vread: (type, id, version) =>
      withResource('vread', { type, id, versionId: version }, (session) =>
        readResource({ type, id, version }, session),
      ),
    update: (resource, { ifMatch } = {}) =>
      withResource('update', { type: typeOf(resource), id: resource?.id }, (session) =>
        write({ interaction: 'update', resource, ifMatch }, session),
      ),
    patch: (type, id, operations, { ifMatch } = {}) =>
      withResource('patch', { type, id }, (session) =>
        write({ interaction: 'patch', key: { type, id }, operations, ifMatch }, session),
      ),
    delete: (type, id, { ifMatch } = {}) =>
      interact('delete', { type, id }, async (session) => {
        await carryOutWrites([{ interaction: 'delete', key: { type, id }, ifMatch }], session);
      }),
    search: (type, query = {}) =>
      interact('search', { type }, async (session, facts) => {
        facts.parameters = auditedParameters(context.store.model, type, query);
        const page = await searchBundle(type, query, session);
        facts.results = page.entry?.length ?? 0;
        return bundle(page);
      }),
    history: (type, id, page = {}) =>
      interact('history', { type, id }, async (session, facts) => {
        const versions = await historyBundle({ type, id }, page, session);
        facts.results = versions.entry?.length ?? 0;
        return bundle(versions);
      }),
    transaction: (request) =>
      audited(context, request?.type === 'batch' ? 'batch' : 'transaction', async (facts) => {
        facts.targets = bundleTargets(context.store.model, request, undefined, baseUrl);
        const response = await underTimeout(context, (bounded) => carryOutBundle(request, bounded));
        facts.targets = bundleTargets(context.store.model, request, response, baseUrl);
        facts.results = response.entry?.length ?? 0;
        return bundle(response);
      }),
  };
}

function typeOf(resource: unknown): string {
  const type = isJsonObject(resource) ? resource['resourceType'] : undefined;
  return typeof type === 'string' ? type : '';
}

function targetOf(resource: AnyResource): AuditTarget {
  const { resourceType: type, id } = resource;
  const meta = elementsOf(resource)['meta'];
  const versionId = isJsonObject(meta) ? meta['versionId'] : undefined;
  return { type, id, ...(typeof versionId === 'string' ? { versionId } : {}) };
}
