import { sorting } from '../../platform/collections.js';
import { assertExpanded, type Criteria, type SortKey } from '../../search/criteria/criteria.js';
import { requiredCodes } from '../../search/criteria/value-test.js';
import { matches } from '../../search/evaluate/match.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { compareRanked, rank, type RankedSubject } from '../../search/evaluate/sort.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchQuery } from '../../store/search-query.js';
import { type PageCut, besideEdge, sliceOf } from '../cut-page.js';
import type { ProjectData } from './project-data.js';
import { STEP, type TimeLimit } from './time-limit.js';

/** The page of a search, in steps. Nothing may be written between them. */
export function* searching(
  data: ProjectData,
  query: SearchQuery,
  cut: PageCut,
  time: TimeLimit,
): Generator<void, FoundPage> {
  const { type, criteria, sort, total } = query;
  const few = yield* candidates(data, type, criteria);
  if (few !== undefined || sort !== undefined || cut.edge?.before === true) {
    const from = few ?? (yield* data.subjects(type));
    return yield* cutting(yield* selecting(from, data, criteria, time), sort, cut, time);
  }
  // They come in order, so the page is found when it is full.
  const after = total === true ? undefined : cut.edge?.position.id;
  const enough = total === true ? Infinity : cut.offset + (cut.limit ?? Infinity);
  const found = yield* selecting(yield* data.subjects(type, after), data, criteria, time, enough);
  return yield* cutting(found, sort, cut, time);
}

/** The first match of a query, whatever its page, in steps. */
export function* findingFirst(
  data: ProjectData,
  { project, type, criteria, sort }: SearchQuery,
  time: TimeLimit,
): Generator<void, SearchSubject | undefined> {
  const cut = { offset: 0, limit: 1, edge: undefined };
  return (yield* searching(data, { project, type, criteria, sort }, cut, time)).subjects[0];
}

/** The page of those matches that point to the target with the parameter, in steps. */
export function* searchingReferring(
  data: ProjectData,
  { type, criteria, sort }: SearchQuery,
  parameter: string,
  target: ReferenceTarget,
  cut: PageCut,
  time: TimeLimit,
): Generator<void, FoundPage> {
  const found = yield* selecting(data.referencing(type, parameter, target), data, criteria, time);
  return yield* cutting(found, sort, cut, time);
}

function* selecting(
  from: Iterable<SearchSubject>,
  data: ProjectData,
  criteria: Criteria,
  time: TimeLimit,
  enough = Infinity,
): Generator<void, SearchSubject[]> {
  // Whether there is anything to test does not decide.
  assertExpanded(criteria);
  const found: SearchSubject[] = [];
  let left = TESTS;
  for (const subject of from) {
    if (found.length >= enough) break;
    time.step();
    if (matches(criteria, subject, data)) found.push(subject);
    if (--left > 0) continue;
    left = TESTS;
    yield;
  }
  return found;
}

/** Resources tested in a step: about 0.5 ms for a condition of hundreds of values. */
const TESTS = 32;

/**
 * Resources that may match, if a conjunct limits them by id, code, text or reference; undefined: any of the type.
 */
function* candidates(
  data: ProjectData,
  type: string,
  criteria: Criteria,
): Generator<void, Iterable<SearchSubject> | undefined> {
  for (const one of criteria.kind === 'and' ? criteria.of : [criteria]) {
    if (one.kind === 'id') return [...new Set(one.ids)].flatMap((id) => data.find(type, id) ?? []);
    if (one.kind !== 'match') continue;
    const { parameter, test } = one;
    if (test.kind === 'string') {
      const few = yield* data.withText(type, parameter, test);
      if (few !== undefined) return few;
    }
    if (test.kind === 'token') {
      const codes = requiredCodes(test);
      if (codes === undefined) continue;
      const few = yield* data.withCode(type, parameter, codes);
      if (few !== undefined) return few;
    }
    if (test.kind !== 'reference' || test.negated) continue;
    const { types, id } = test;
    if (id === undefined || types === undefined) continue;
    return referring(data, type, parameter, types, id);
  }
  return undefined;
}

function referring(
  data: ProjectData,
  type: string,
  parameter: string,
  types: readonly string[],
  id: string,
): Iterable<SearchSubject> {
  const [first, ...others] = types;
  if (first !== undefined && others.length === 0) return data.referencing(type, parameter, { type: first, id });
  return new Set(types.flatMap((target) => [...data.referencing(type, parameter, { type: target, id })]));
}

/** The part of the matches that a query asks for. */
export interface FoundPage {
  readonly subjects: readonly SearchSubject[];
  /** How many matches were found, on all pages. */
  readonly total: number;
}

/** The page of matches that were found, in order, in steps. */
function* cutting(
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
