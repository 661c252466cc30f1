import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { sorting } from '../../platform/sorting.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareRanked, compareToPosition, rank, type RankedSubject } from '../../search/evaluate/sort.js';
import { type PageEdge, pageEdgeOf, pageOf } from '../../store/guards.js';
import type { SearchQuery } from '../../store/search-query.js';
import { STEP } from './step.js';
import type { TimeLimit } from './time-limit.js';

/** What part of the matches a page has. */
export interface PageCut {
  readonly offset: number;
  /** Undefined: all. */
  readonly limit: number | undefined;
  /** Undefined: from the first match on. */
  readonly edge: PageEdge | undefined;
}

/** The part of the matches that a query asks for. */
export interface FoundPage {
  readonly subjects: readonly SearchSubject[];
  /** How many matches were found, on all pages. */
  readonly total: number;
}

/** @throws FhirError `invalid` - the page is malformed */
export function cutOf(model: FhirModel, query: SearchQuery): PageCut {
  return { ...pageOf(query), edge: pageEdgeOf(model, query) };
}

/** The page of matches that were found, in order, in steps. */
export function* cutting(
  found: readonly SearchSubject[],
  sort: readonly SortKey[] | undefined,
  { offset, limit, edge }: PageCut,
  time: TimeLimit,
): Generator<void, FoundPage> {
  const place = edge === undefined ? undefined : compareToPosition(sort, edge.position);
  const isIn = (subject: SearchSubject): boolean =>
    place === undefined || (edge!.before ? place(subject) < 0 : place(subject) > 0);
  const ranked: RankedSubject[] = [];
  for (const [index, subject] of found.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (isIn(subject)) ranked.push(rank(subject, sort));
  }
  const isFromStart = edge?.before !== true && limit !== undefined;
  const inOrder = yield* inTime(ranked, sort, isFromStart ? offset + limit : undefined, time);
  const page =
    edge?.before === true
      ? inOrder.slice(limit === undefined ? 0 : Math.max(0, inOrder.length - limit))
      : inOrder.slice(offset, limit === undefined ? undefined : offset + limit);
  return { subjects: page.map(({ subject }) => subject), total: found.length };
}

function* inTime(
  ranked: readonly RankedSubject[],
  sort: readonly SortKey[] | undefined,
  first: number | undefined,
  time: TimeLimit,
): Generator<void, readonly RankedSubject[]> {
  const compare = compareRanked(sort);
  const timed = (a: RankedSubject, b: RankedSubject): number => {
    time.step();
    return compare(a, b);
  };
  return yield* sorting(ranked, timed, { run: STEP, first });
}
