import type { Bundle } from '@medplum/fhirtypes';
import { tracedBy } from '../access/access-trace.js';
import { operation } from '../access/operation.js';
import type { AuditFacts } from '../audit/audit.js';
import { onFirstUse } from '../platform/shared-work.js';
import { historyBundle, typeHistoryBundle } from './history-bundle.js';
import {
  failAsFhirError,
  openRepository,
  type OpenRepository,
  type WrittenResource,
  readResource,
} from './open-repository.js';
import type { Repository, RepositoryContext } from './repository.js';
import { searchBundle } from './search-bundle.js';
import { auditedParameters } from './search-query.js';
import { subscribe } from './subscribe.js';
import * as writes from './write-resource.js';

/**
 * Creates a repository: FHIR's interactions for the host's own code, under the caller's rights.
 *
 * @throws FhirError `unauthenticated` - there is no caller
 * @throws FhirError `invalid` - `baseUrl` is not that of the store
 *
 * @example
 * const repository = createRepository({ store, caller: await signIn(store, { membership }) });
 * const patient = await repository.create({ resourceType: 'Patient', name: [{ family: 'Kulas' }] });
 */
export function createRepository(context: RepositoryContext): Repository {
  return repositoryOf(openRepository(context));
}

export function repositoryOf(open: OpenRepository): Repository {
  const { context, baseUrl, interact, withResource, bundle } = open;
  const pageOf = (facts: AuditFacts, page: { readonly entry?: readonly unknown[] }): Promise<Bundle<never>> => {
    facts.results = page.entry?.length ?? 0;
    return bundle(page);
  };
  return {
    create: (resource, options) => resourceOf(writes.createResource(open, resource, options)),
    read: (type, id) => typed(withResource('read', { type, id }, (_, session) => readResource({ type, id }, session))),
    vread: (type, id, version) =>
      typed(
        withResource('vread', { type, id, versionId: version }, (_, session) =>
          readResource({ type, id, version }, session),
        ),
      ),
    update: (resource, options) => resourceOf(writes.updateResource(open, resource, options)),
    patch: (type, id, operations, options) => resourceOf(writes.patchResource(open, { type, id }, operations, options)),
    delete: (type, id, options) => writes.deleteResource(open, { type, id }, options),
    conditionalUpdate: (resource, condition, options) =>
      resourceOf(writes.updateMatching(open, resource, condition, options)),
    conditionalPatch: (type, condition, operations, options) =>
      resourceOf(writes.patchMatching(open, type, condition, operations, options)),
    conditionalDelete: (type, condition, options) => writes.deleteMatching(open, type, condition, options),
    search: (type, query = {}) =>
      interact('search', { type }, async (facts, session) => {
        facts.parameters = auditedParameters(context.store.model, type, query);
        return pageOf(facts, await searchBundle(type, query, session));
      }),
    history: (type, id, page = {}) =>
      interact('history', { type, id }, async (facts, session) =>
        pageOf(facts, await historyBundle({ type, id }, page, session)),
      ),
    typeHistory: (type, page = {}) =>
      interact('history', { type }, async (facts, session) =>
        pageOf(facts, await typeHistoryBundle(type, page, session)),
      ),
    systemHistory: (page = {}) =>
      interact('history', undefined, async (facts, session) =>
        pageOf(facts, await typeHistoryBundle(undefined, page, session)),
      ),
    subscribe: (type, query = {}, options = {}) => subscribe(open, type, query, options),
    transaction: (request, options = {}) =>
      operation(context, request?.type === 'batch' ? 'batch' : 'transaction', async (bounded, facts) => {
        const { bundleTargets, carryOutBundle } = await loadTransactions();
        const trace = tracedBy(context, facts);
        const { model } = context.store;
        if (trace !== undefined) facts.targets = await bundleTargets(model, request, undefined, baseUrl);
        const response = await carryOutBundle(request, bounded, trace, options);
        if (trace !== undefined) facts.targets = await bundleTargets(model, request, response, baseUrl);
        facts.results = response.entry?.length ?? 0;
        return bundle(response);
      }).catch(failAsFhirError),
  };
}

/** PERF (start): loaded with the first transaction. */
const loadTransactions = onFirstUse(() => import('./carry-out-bundle.js'));

/** The types of FHIR's resources are the caller's view of plain JSON; the type given decides which. */
function typed(work: Promise<unknown>): Promise<never> {
  return work as Promise<never>;
}

async function resourceOf(work: Promise<WrittenResource>): Promise<never> {
  return (await work).resource as never;
}
