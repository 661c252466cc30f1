import type { FhirModel } from '../fhir/model/fhir-model.js';
import type { SearchSubject } from '../search/evaluate/search-subject.js';
import { compareToPosition } from '../search/evaluate/sort.js';
import { pageEdgeOf, pageOf } from '../store/guards.js';
import type { SearchQuery } from '../store/search-query.js';

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
  const { offset, limit } = pageOf(query);
  const edge = pageEdgeOf(model, query);
  const order = edge === undefined ? undefined : compareToPosition(query.sort, edge.position);
  if (edge?.before === true) {
    const earlier = matching.filter((subject) => order!(subject) < 0);
    return earlier.slice(limit === undefined ? 0 : Math.max(0, earlier.length - limit));
  }
  const later = order === undefined ? matching : matching.filter((subject) => order(subject) > 0);
  return later.slice(offset, limit === undefined ? undefined : offset + limit);
}
