import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { SortKey } from '../search/criteria/criteria.js';
import type { SearchSubject } from '../search/evaluate/search-subject.js';
import { compareToPosition } from '../search/evaluate/sort.js';
import { type PageEdge, pageEdgeOf, pageOf } from '../store/guards.js';
import type { SearchQuery } from '../store/search-query.js';

/** The part of the matches that a page shows. */
export interface PageCut {
  readonly offset: number;
  /** Undefined: all. */
  readonly limit: number | undefined;
  /** Undefined: from the first match on. */
  readonly edge: PageEdge | undefined;
}

/**
 * The part of the matches that the query asks for: its offset, limit and position.
 *
 * @param matching all matches, in the order of `compareSubjects(query.sort)`
 * @throws FhirError `invalid` - the page is malformed
 */
export function cutPage(
  model: FhirModel,
  matching: readonly SearchSubject[],
  query: SearchQuery,
): readonly SearchSubject[] {
  const cut = cutOf(model, query);
  return sliceOf(matching.filter(besideEdge(cut, query.sort)), cut);
}

/** @throws FhirError `invalid` - the page is malformed */
export function cutOf(model: FhirModel, query: SearchQuery): PageCut {
  return { ...pageOf(query), edge: pageEdgeOf(model, query) };
}

/** Whether a match is on the page's side of its edge. */
export function besideEdge(
  { edge }: PageCut,
  sort: readonly SortKey[] | undefined,
): (subject: SearchSubject) => boolean {
  if (edge === undefined) return () => true;
  const compare = compareToPosition(sort, edge.position);
  return edge.before ? (subject) => compare(subject) < 0 : (subject) => compare(subject) > 0;
}

/** @param inOrder the matches {@link besideEdge}, in order */
export function sliceOf<Match>(inOrder: readonly Match[], { offset, limit, edge }: PageCut): readonly Match[] {
  if (edge?.before === true) return inOrder.slice(limit === undefined ? 0 : Math.max(0, inOrder.length - limit));
  return inOrder.slice(offset, limit === undefined ? undefined : offset + limit);
}
