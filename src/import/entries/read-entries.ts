import { FhirError } from '../../fhir/error.js';
import { withChosenMeta } from '../../fhir/own-extensions.js';
import { referenceTo } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { requireFound } from '../../interactions/interaction-session.js';
import { MAX_COUNT, requestedPage } from '../../interactions/pages.js';
import { parseSearch, withoutEmpty } from '../../search/parse/parse-search.js';
import { searchPairs } from '../../search/parse/search-pairs.js';
import type { ImportSession } from '../session.js';
import type { BundleEntry } from './bundle-entries.js';
import type { EntryOutcome } from './entry-outcome.js';

/**
 * Answers a GET or HEAD entry: read, vread, search or history.
 *
 * @throws FhirError `not-found`, `gone`, and the errors of search parsing
 * @throws FhirError `too-costly` - a page of more than 1000
 * @throws FhirError `unsupported` - a history, or a part of a resource, without a reader
 */
async function readEntry(entry: BundleEntry, session: ImportSession): Promise<EntryOutcome> {
  const { type, id, version, method, query, history } = entry.request;
  const { reader } = session;
  const head = method === 'HEAD';
  const shown = head ? { ...session, trace: undefined } : session;
  if (history === true) {
    if (reader === undefined) throw new FhirError('unsupported', 'History inside a Bundle is not supported here');
    return { kind: 'read', resource: await reader.history(type, id, query ?? '', shown), head };
  }
  if (id === undefined) {
    const find = reader?.search ?? search;
    return { kind: 'read', resource: await find(type, query ?? '', shown), head };
  }
  if (query !== undefined && reader === undefined) {
    throw new FhirError('unsupported', 'Parameters of a read inside a Bundle are not supported here');
  }

  const key = version === undefined ? { type, id } : { type, id, version };
  const [read] = await session.store.read([key], session.options);
  const found = requireFound(read, key);
  if (entry.ifNoneMatch === '*' || entry.ifNoneMatch === found.versionId)
    return { kind: 'not-modified', stored: found };
  const whole = withChosenMeta(found.resource, session);
  const resource = query === undefined ? whole : reader!.reduce(whole, query, session);
  shown.trace?.show(found.resource);
  return { kind: 'read', resource, stored: found, head };
}

async function search(type: string, query: string, session: ImportSession): Promise<AnyResource> {
  const request = parseSearch(
    session.store.model,
    type,
    new URLSearchParams(withoutEmpty(session.store.model, type, searchPairs(query)).map(([...pair]) => pair)),
  );
  const { count, offset } = requestedPage({ count: request.count ?? MAX_COUNT, offset: request.offset });
  const found = await session.store.search(
    {
      type,
      criteria: request.criteria,
      sort: request.sort,
      offset,
      limit: request.summaryCount === true ? 0 : count,
      total: true,
    },
    session.options,
  );
  for (const { resource } of found.matches) session.trace?.show(resource);
  const base = session.baseUrl;
  const entry = found.matches.map(({ resource }) => ({
    ...(base === undefined ? {} : { fullUrl: `${base}/${referenceTo(type, resource.id!)}` }),
    resource: withChosenMeta(resource, session),
    search: { mode: 'match' },
  }));
  const { total } = found;
  const bundle = { resourceType: 'Bundle', type: 'searchset', total, ...(entry.length === 0 ? {} : { entry }) };
  return bundle;
}

/**
 * The reads of one Bundle. Its GET entries together bring a bounded number of resources: the answer is in memory at
 * once, and an entry of sixty bytes can ask for a page of a thousand. A search or history is work even if it brings
 * nothing, such as a count, or fails.
 */
export class BundleReads {
  #left = MAX_READ;

  constructor(private readonly session: ImportSession) {}

  /**
   * @throws as {@link readEntry}
   * @throws FhirError `too-costly` - the entries before have brought as many resources as all may, or searched as often
   */
  async read(entry: BundleEntry): Promise<EntryOutcome> {
    if (this.#left <= 0) {
      throw new FhirError(
        'too-costly',
        `The GET entries of a Bundle may bring ${MAX_READ} resources together, where a search or history counts at least ${SEARCH_WORK}; send the others in another Bundle`,
        { details: { max: MAX_READ } },
      );
    }
    const { id, history } = entry.request;
    const least = id === undefined || history === true ? SEARCH_WORK : 1;
    this.#left -= least;
    const outcome = await readEntry(entry, this.session);
    this.#left -= Math.max(0, resourcesOf(outcome) - least);
    return outcome;
  }
}

/** Checked before each entry, so the last one may bring more. */
const MAX_READ = 10_000;

/** The resources that a search counts for at least: about 3 ms for a count of many. */
const SEARCH_WORK = 10;

function resourcesOf(outcome: EntryOutcome): number {
  if (outcome.kind !== 'read' || outcome.stored !== undefined) return 1;
  const { entry = [] } = outcome.resource as AnyResource & { readonly entry?: readonly object[] };
  return Math.max(1, entry.length);
}
