import type { SearchPosition } from '../search/evaluate/sort.js';
import { type CallOptions } from './call-options.js';
import { CallPace } from './guards.js';
import type { TypeHistoryEntry, VersionPosition } from './history.js';
import type { SearchPage } from './search-query.js';
import type { ReadResult, StoredResource } from './stored-resource.js';
import { ShortPage, TextBudget } from './text-budget.js';

/** The part of a query that moves from page to page. A page ends early where its texts are long. */
interface PageOf<Position> {
  readonly limit: number;
  readonly after: Position | undefined;
  readonly shortens: ShortPage;
}

/**
 * Every match of an unsorted search, in the order of ids.
 *
 * @param limit - the size of a page
 * @param search receives the page, and the budget of its texts: no page is kept, so each has one of its own
 *
 * @example
 * everyMatch(200, (page, budget) => store.search({ project, type, criteria: ALL, ...page }, { budget }))
 */
export async function* everyMatch(
  limit: number,
  search: (page: PageOf<SearchPosition>, budget: TextBudget) => Promise<SearchPage>,
): AsyncGenerator<StoredResource, void, undefined> {
  for (let after: SearchPosition | undefined; ;) {
    const shortens = new ShortPage();
    const { matches } = await search({ limit, after, shortens }, new TextBudget());
    yield* matches;
    const last = matches.at(-1);
    if (last === undefined || (matches.length < limit && !shortens.isCut)) return;
    after = { values: [], id: last.resource.id! };
  }
}

/** The pages of a type's history, from the newest version on, `limit` versions each. */
export async function* everyHistoryPage(
  limit: number,
  typeHistory: (page: PageOf<VersionPosition>, budget: TextBudget) => Promise<readonly TypeHistoryEntry[]>,
): AsyncGenerator<readonly TypeHistoryEntry[], void, undefined> {
  for (let after: VersionPosition | undefined; ;) {
    const shortens = new ShortPage();
    const entries = await typeHistory({ limit, after, shortens }, new TextBudget());
    yield entries;
    const last = entries.at(-1);
    if (last === undefined || (entries.length < limit && !shortens.isCut)) return;
    after = { id: last.id, versionId: last.versionId, lastUpdated: last.lastUpdated };
  }
}

/**
 * Keys of one call. A store reads this many resources in a few milliseconds, in one turn of the event loop. Only tests
 * change it.
 */
export const READ_TUNING = { keysAtOnce: 2_000 };

/** Reads any number of keys; other work runs between the parts of a long list. */
export async function readInParts<Key>(
  keys: readonly Key[],
  options: CallOptions | undefined,
  read: (part: readonly Key[]) => Promise<readonly ReadResult[]>,
): Promise<readonly ReadResult[]> {
  const { keysAtOnce } = READ_TUNING;
  if (keys.length <= keysAtOnce) return keys.length === 0 ? [] : read(keys);
  const results: ReadResult[] = [];
  const pace = new CallPace(options);
  for (let start = 0; start < keys.length; start += keysAtOnce) {
    if (pace.isSpent) await pace.next();
    results.push(...(await read(keys.slice(start, start + keysAtOnce))));
  }
  return results;
}
