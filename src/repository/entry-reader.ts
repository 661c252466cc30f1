import { withoutOwnMetaInside } from '../fhir/own-meta.js';
import { trimBaseUrl } from '../fhir/reference.js';
import type { AnyResource } from '../fhir/resource.js';
import type { EntryReader } from '../import/entry-reader.js';
import type { GuardedSession } from '../interactions/interaction-session.js';
import { historyBundle } from './history-bundle.js';
import { historyParameters, typeHistoryParameters } from './history-parameters.js';
import type { RepositoryContext, RepositorySession } from './repository-context.js';
import { parseQueryString } from '../search/parse/search-pairs.js';
import { readSubset } from './search/result-parameters.js';
import { subsetOf } from './search/subset.js';
import { searchBundle } from './search-bundle.js';
import { typeHistoryBundle } from './type-history-bundle.js';

/** Answers the reads of a Bundle like single requests. */
export function entryReader({ extendedMeta, resolveIdentifiers }: RepositoryContext): EntryReader {
  const open = (session: GuardedSession): RepositorySession => ({
    ...{ store: session.store, options: session.options, trace: session.trace },
    baseUrl: trimBaseUrl(session.baseUrl),
    resolveIdentifiers,
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
