import { assertExpanded } from '../../search/criteria/concept-tests.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareSubjects } from '../../search/evaluate/sort.js';
import type { ReferenceTarget, SearchQuery } from '../../store/store.js';
import type { LocalWorld } from './local-world.js';

/** All matches in order, whatever the page. */
export function searchSubjects(data: LocalWorld, query: SearchQuery): readonly SearchSubject[] {
  const { type, criteria, sort } = query;
  const few = candidates(data, type, criteria);
  if (few !== undefined) return select(few, data, criteria).sort(compareSubjects(sort));
  const found = select(data.subjects(type), data, criteria);
  // PERF: what comes from there is in order already.
  return sort === undefined ? found : found.sort(compareSubjects(sort));
}

/** All matches that point to the target with the parameter, in order. */
export function searchReferring(
  data: LocalWorld,
  { type, criteria, sort }: SearchQuery,
  parameter: string,
  target: ReferenceTarget,
): readonly SearchSubject[] {
  return select(data.referencing(type, parameter, target), data, criteria).sort(compareSubjects(sort));
}

function select(from: Iterable<SearchSubject>, data: LocalWorld, criteria: Criteria): SearchSubject[] {
  // Whether there is anything to test does not decide.
  assertExpanded(criteria);
  const found: SearchSubject[] = [];
  for (const subject of from) if (matches(criteria, subject, data)) found.push(subject);
  return found;
}

/** Resources that may match, if a conjunct limits them by id or reference; undefined: any of the type. */
function candidates(data: LocalWorld, type: string, criteria: Criteria): Iterable<SearchSubject> | undefined {
  for (const one of criteria.kind === 'and' ? criteria.of : [criteria]) {
    if (one.kind === 'id') return [...new Set(one.ids)].flatMap((id) => data.find(type, id) ?? []);
    if (one.kind !== 'match' || one.test.kind !== 'reference' || one.test.negated) continue;
    const { types, id } = one.test;
    if (id === undefined || types === undefined) continue;
    return new Set(types.flatMap((target) => [...data.referencing(type, one.parameter, { type: target, id })]));
  }
  return undefined;
}
