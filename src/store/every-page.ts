import type { SearchPosition } from '../search/evaluate/sort.js';
import type { TypeHistoryEntry, VersionPosition } from './history.js';
import type { SearchPage } from './search-query.js';
import type { StoredResource } from './stored-resource.js';

/** The part of a query that moves from page to page. */
interface PageOf<Position> {
  readonly limit: number;
  readonly after: Position | undefined;
}

/**
 * Every match of an unsorted search, in the order of ids.
 *
 * @param limit - the size of a page
 *
 * @example
 * everyMatch(200, (page) => store.search({ project, type, criteria: ALL, ...page }))
 */
export async function* everyMatch(
  limit: number,
  search: (page: PageOf<SearchPosition>) => Promise<SearchPage>,
): AsyncGenerator<StoredResource, void, undefined> {
  for (let after: SearchPosition | undefined; ;) {
    const { matches } = await search({ limit, after });
    yield* matches;
    const last = matches.at(-1);
    if (last === undefined || matches.length < limit) return;
    after = { values: [], id: last.resource.id! };
  }
}

/** The pages of a type's history, from the newest version on, `limit` versions each. */
export async function* everyHistoryPage(
  limit: number,
  typeHistory: (page: PageOf<VersionPosition>) => Promise<readonly TypeHistoryEntry[]>,
): AsyncGenerator<readonly TypeHistoryEntry[], void, undefined> {
  for (let after: VersionPosition | undefined; ;) {
    const entries = await typeHistory({ limit, after });
    yield entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return;
    after = { id: last.id, versionId: last.versionId, lastUpdated: last.lastUpdated };
  }
}
