import { sorting } from '../../platform/collections.js';
import type { SortKey } from '../../search/criteria/criteria.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareRanked, rank, type RankedSubject } from '../../search/evaluate/sort.js';
import { besideEdge, type PageCut, sliceOf } from '../cut-page.js';
import { STEP } from './step.js';
import type { TimeLimit } from './time-limit.js';

/** The part of the matches that a query asks for. */
export interface FoundPage {
  readonly subjects: readonly SearchSubject[];
  /** How many matches were found, on all pages. */
  readonly total: number;
}

/** The page of matches that were found, in order, in steps. */
export function* cutting(
  found: readonly SearchSubject[],
  sort: readonly SortKey[] | undefined,
  cut: PageCut,
  time: TimeLimit,
): Generator<void, FoundPage> {
  const isIn = besideEdge(cut, sort);
  const ranked: RankedSubject[] = [];
  for (const [index, subject] of found.entries()) {
    if (index % STEP === STEP - 1) yield;
    if (isIn(subject)) ranked.push(rank(subject, sort));
  }
  const { offset, limit, edge } = cut;
  const isFromStart = edge?.before !== true && limit !== undefined;
  const inOrder = yield* inTime(ranked, sort, isFromStart ? offset + limit : undefined, time);
  const page = sliceOf(inOrder, cut);
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
