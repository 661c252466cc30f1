import type { Bundle } from '@medplum/fhirtypes';
import type { AccessTrace } from '../access/access-trace.js';
import type { GuardedKey } from '../access/contract.js';
import { guardStore } from '../access/guarded-store.js';
import type { InCall } from '../access/operation.js';
import { FhirError } from '../fhir/error.js';
import { withoutOwnMetaInside } from '../fhir/own-extensions.js';
import { parseReference } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import { runBundle } from '../import/bundle/import-bundle.js';
import type { EntryReader, ImportSession } from '../import/session.js';
import { mapInTurns, Pace } from '../platform/pace.js';
import { parseQueryString } from '../search/parse/search-pairs.js';
import { historyBundle, typeHistoryBundle } from './history-bundle.js';
import { historyParameters, typeHistoryParameters } from './history-parameters.js';
import type { RepositoryContext, RepositorySession, TransactionOptions } from './repository.js';
import { searchBundle } from './search-bundle.js';
import { readSubset } from './search/result-parameters.js';
import { subsetOf } from './search/subset.js';

export { bundleTargets } from '../import/bundle/bundle-targets.js';

/** See https://hl7.org/fhir/R4/http.html#transaction. */
export async function carryOutBundle(
  bundle: Bundle,
  context: InCall<RepositoryContext>,
  trace: AccessTrace | undefined,
  { representation = false }: TransactionOptions,
): Promise<Bundle> {
  const { store, caller, signal, call, baseUrl, extendedMeta, profiles } = context;
  const importing = { store, caller, signal, call, baseUrl, extendedMeta, profiles, ids: 'assigned' } as const;
  const { bundle: response } = await runBundle(bundle, importing, trace, entryReader(context));
  if (!representation) return response;
  try {
    return await withRepresentations(response, context, trace);
  } catch (error) {
    // The writes are committed, so a later failure does not fail the request.
    if (error instanceof FhirError) return response;
    throw error;
  }
}

/** Adds the written resources to their entries, as the caller sees them. */
async function withRepresentations(
  response: Bundle,
  context: InCall<RepositoryContext>,
  trace: AccessTrace | undefined,
): Promise<Bundle> {
  const { store, caller, call, profiles } = context;
  const entries = response.entry ?? [];
  const keys = new Map<number, GuardedKey>();
  // The answer is built even after an abort, because the writes are committed.
  const pace = new Pace();
  for (const [index, entry] of entries.entries()) {
    if (pace.isSpent) await pace.next();
    const location = parseReference(entry.response?.location ?? '');
    if (location?.kind === 'local')
      keys.set(index, { type: location.type, id: location.id, version: location.version });
  }
  const found = await guardStore(store, caller, { trace, profiles }).read([...keys.values()], call);
  const resources = new Map<number, AnyResource>();
  for (const [position, index] of [...keys.keys()].entries()) {
    if (pace.isSpent) await pace.next();
    const result = found[position];
    if (result?.status !== 'found') continue;
    trace?.show(result.resource);
    resources.set(index, result.resource);
  }
  const entry = await mapInTurns(entries, pace, (one, index) => {
    const resource = resources.get(index);
    return resource === undefined ? one : { resource, ...one };
  });
  return { ...response, entry } as Bundle;
}

/** Answers the reads of a Bundle like single requests. */
function entryReader({ extendedMeta, resolveIdentifiers }: RepositoryContext): EntryReader {
  const open = ({ store, options, trace, baseUrl }: ImportSession): RepositorySession => ({
    ...{ store, options, trace, baseUrl, resolveIdentifiers },
  });
  const made = (bundle: object): AnyResource =>
    (extendedMeta === true ? bundle : withoutOwnMetaInside(bundle)) as AnyResource;
  return {
    search: async (type, query, session) => made(await searchBundle(type, query, open(session))),
    async history(type, id, query, session) {
      const parameters = parseQueryString(query);
      if (id === undefined)
        return made(await typeHistoryBundle(type, typeHistoryParameters(parameters), open(session)));
      return made(await historyBundle({ type, id }, historyParameters(parameters), open(session)));
    },
    reduce(resource, query, { store: { model } }) {
      const subset = readSubset(model, resource.resourceType, parseQueryString(query));
      return subset === undefined ? resource : subsetOf(model, resource, subset);
    },
  };
}
