import type { Criteria, SortKey } from '../search/criteria/criteria.js';
import type { SearchPosition } from '../search/evaluate/sort.js';
import type { StoredResource } from './stored-resource.js';
import type { ShortPage } from './text-budget.js';

/** A search in one project and type. */
export interface SearchQuery {
  readonly project: string;
  readonly type: string;
  readonly criteria: Criteria;
  /** Default: by id, ascending. Ties of any sort are broken by ascending id. Resources without a value come last. */
  readonly sort?: readonly SortKey[] | undefined;
  /** Number of matches to skip. Default 0; not together with `before`. */
  readonly offset?: number | undefined;
  /** Maximum page size. Default: no limit. 0 returns no resources (with `total`: the count alone). */
  readonly limit?: number | undefined;
  /** Also count all matches, independent of the page. Default false. */
  readonly total?: boolean | undefined;
  /** The page begins right after this position in the order of `sort`. */
  readonly after?: SearchPosition | undefined;
  /** The page ends right before this position: the last `limit` matches before it, in the order of `sort`. */
  readonly before?: SearchPosition | undefined;
  /** Given if the page may end early, where its texts exceed half of the budget of the call. Default: it may not. */
  readonly shortens?: ShortPage | undefined;
  /**
   * The elements that are needed, by their names in JSON (`name`, `_birthDate`). A store may leave out other elements,
   * except `resourceType` and `id`. Pass the same array object from call to call, because stores compile it once.
   * Default: all.
   */
  readonly elements?: readonly string[] | undefined;
}

/** A page of a search. */
export interface SearchPage {
  readonly matches: readonly StoredResource[];
  /** The number of all matches; present if the query has `total`. */
  readonly total?: number | undefined;
}
