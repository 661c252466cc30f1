import type { Bundle, Resource } from '@medplum/fhirtypes';
import { type AuditFacts, type AuditTarget, type RestInteraction } from '../audit/audit.js';
import { audited } from '../access/audited.js';
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
  const { store, caller, signal, extendedMeta = false } = context;
  const session: RepositorySession = {
    store: guardStore(store, caller, context.baseUrl),
    options: { signal },
    baseUrl: trimBaseUrl(context.baseUrl),
  };
  const interact = <Result>(
    interaction: RestInteraction,
    target: AuditTarget,
    work: (facts: AuditFacts) => Promise<Result>,
  ): Promise<Result> =>
    audited(context, interaction, (facts) => {
      facts.targets = [target];
      return work(facts);
    });
  /** Runs an interaction with one resource and audits the resulting version. */
  const withResource = (
    interaction: RestInteraction,
    target: AuditTarget,
    work: () => Promise<AnyResource>,
  ): Promise<never> =>
    interact(interaction, target, async (facts) => {
      const resource = await work();
      facts.targets = [targetOf(resource)];
      // The types of FHIR's resources are the caller's view of plain JSON; the type given decides which.
      return structuredClone(extendedMeta ? resource : withoutOwnMeta(resource)) as never;
    });
  const write = async (request: WriteRequest): Promise<AnyResource> => {
    const [outcome] = await carryOutWrites([request], session);
    if (outcome !== undefined && 'resource' in outcome) return outcome.resource;
    throw new TypeError('What is created, updated or patched is a resource');
  };
  const bundle = <Content extends Resource>(made: object): Bundle<Content> =>
    structuredClone(extendedMeta ? made : withoutOwnMetaInside(made)) as Bundle<Content>;

  return {
    create: (resource, { ifNoneExist } = {}) =>
      withResource('create', { type: typeOf(resource) }, () => write({ interaction: 'create', resource, ifNoneExist })),
    read: (type, id) => withResource('read', { type, id }, () => readResource({ type, id }, session)),
    vread: (type, id, version) =>
      withResource('vread', { type, id, versionId: version }, () => readResource({ type, id, version }, session)),
    update: (resource, { ifMatch } = {}) =>
      withResource('update', { type: typeOf(resource), id: resource?.id }, () =>
        write({ interaction: 'update', resource, ifMatch }),
      ),
    patch: (type, id, operations, { ifMatch } = {}) =>
      withResource('patch', { type, id }, () =>
        write({ interaction: 'patch', key: { type, id }, operations, ifMatch }),
      ),
    delete: (type, id, { ifMatch } = {}) =>
      interact('delete', { type, id }, async () => {
        await carryOutWrites([{ interaction: 'delete', key: { type, id }, ifMatch }], session);
      }),
    search: (type, query = {}) =>
      interact('search', { type }, async (facts) => {
        facts.parameters = auditedParameters(context.store.model, type, query);
        const page = await searchBundle(type, query, session);
        facts.results = page.entry?.length ?? 0;
        return bundle(page);
      }),
    history: (type, id, page = {}) =>
      interact('history', { type, id }, async (facts) => {
        const versions = await historyBundle({ type, id }, page, session);
        facts.results = versions.entry?.length ?? 0;
        return bundle(versions);
      }),
    transaction: (request) =>
      audited(context, request?.type === 'batch' ? 'batch' : 'transaction', async (facts) => {
        facts.targets = bundleTargets(context.store.model, request, undefined, session.baseUrl);
        const response = await carryOutBundle(request, context);
        facts.targets = bundleTargets(context.store.model, request, response, session.baseUrl);
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
