import type { AuditEvent, Bundle } from '@medplum/fhirtypes';
import { assertCaller, type Caller } from '../access/caller.js';
import { decide } from '../access/decide.js';
import { PROJECT_SYSTEM } from '../audit/audit-event.js';
import { AUDIT_LOG_PROJECT } from '../audit/log/chain.js';
import { FhirError } from '../fhir/error.js';
import type { Stored } from '../fhir/resource.js';
import { childrenOf, and, type Criteria } from '../search/criteria/criteria.js';
import type { ResourceKey } from '../store/resource-key.js';
import type { SearchQuery } from '../store/search-query.js';
import type { ResourceStore } from '../store/store.js';
import { createRepository } from './create-repository.js';
import type { RepositoryContext } from './repository.js';
import type { RepositorySearch } from './search-query.js';

/**
 * Searches the audit log for the events of the caller's project: who saw what. The caller's own rules for AuditEvent
 * apply, as if the events were in its project; a Patient without a policy finds the events of its own record.
 *
 * Callers that belong to the log's project search all events, with an ordinary repository too.
 *
 * @throws FhirError `unsupported` - a rule of the caller for AuditEvent leads to other resources, which are not in the log
 * @throws FhirError as `search` of a repository
 *
 * @example
 * const { entry = [] } = await searchAuditLog('patient=Patient/123&_sort=-date', { store, caller });
 */
export async function searchAuditLog(
  query: RepositorySearch,
  context: RepositoryContext,
): Promise<Bundle<Stored<AuditEvent>>> {
  const { store, caller } = context;
  assertCaller(caller);
  assertOwnElements(caller);
  return createRepository({ ...context, store: auditView(store, caller.project) }).search('AuditEvent', query);
}

/** Criteria that lead to other resources would be evaluated in the log's project. */
function assertOwnElements(caller: Caller): void {
  if (caller.project === AUDIT_LOG_PROJECT) return;
  for (const { criteria } of decide(caller, 'AuditEvent', 'search') ?? []) {
    if (leadsElsewhere(criteria)) {
      throw new FhirError(
        'unsupported',
        'A policy rule for AuditEvent that leads to other resources grants no audit log',
      );
    }
  }
}

function leadsElsewhere(criteria: Criteria): boolean {
  return criteria.kind === 'chain' || criteria.kind === 'has' || childrenOf(criteria).some(leadsElsewhere);
}

/** The store with the AuditEvents of a project in the log in place of its own; for reading only. */
function auditView(store: ResourceStore, project: string): ResourceStore {
  if (project === AUDIT_LOG_PROJECT) return store;
  const ofProject: Criteria = {
    kind: 'match',
    parameter: 'source:identifier',
    test: { kind: 'token', system: PROJECT_SYSTEM, code: project },
  };
  const isEvents = (one: { readonly project: string; readonly type: string }): boolean =>
    one.type === 'AuditEvent' && one.project === project;
  const redirect = (query: SearchQuery): SearchQuery =>
    isEvents(query) ? { ...query, project: AUDIT_LOG_PROJECT, criteria: and([query.criteria, ofProject]) } : query;
  const refuse = (): Promise<never> => Promise.reject(new FhirError('forbidden', 'The audit log is for reading'));
  // Events of other projects have ids too, so nothing is read by its id.
  const hidden = (keys: readonly ResourceKey[]): boolean => keys.some(isEvents);
  return {
    model: store.model,
    read: (keys, options) => (hidden(keys) ? refuse() : store.read(keys, options)),
    search: (query, options) => store.search(redirect(query), options),
    searchByReference: (query, parameter, targets, options) =>
      store.searchByReference(redirect(query), parameter, targets, options),
    history: refuse,
    commit: refuse,
    ...(store.pendingParameters === undefined
      ? {}
      : {
          pendingParameters: (of, options) =>
            store.pendingParameters!(of === project ? AUDIT_LOG_PROJECT : of, options),
        }),
    close: () => store.close(),
  };
}
