import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { ImportSession } from '../session.js';
import type { BundleEntry } from './bundle-entries.js';
import type { EntryOutcome } from './entry-outcome.js';
import { readEntry } from './read-entries.js';

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
