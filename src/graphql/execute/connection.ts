import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { createSubject } from '../../search/evaluate/search-subject.js';
import { localized } from '../../search/evaluate/localized.js';
import { endOf, positionOf, type SearchPosition } from '../../search/evaluate/sort.js';
import type { ReferenceTarget, SearchPage, StoredResource } from '../../store/store.js';
import type { ConnectionEdgeField, ConnectionShape, CursorPart } from '../plan/plan.js';
import { encodeCursor } from './cursor.js';
import { projectResource } from './project.js';
import type { Output, Run } from './run.js';
import type { SearchRequest } from './search-request.js';

/** One page of a connection: what the store gave, without the match that only tells whether something follows. */
export interface ConnectionPage {
  readonly model: FhirModel;
  readonly request: SearchRequest;
  /** What a reverse connection points to; undefined at the root. */
  readonly target: ReferenceTarget | undefined;
  readonly matches: readonly StoredResource[];
  readonly total: number | undefined;
  /** Whether there was one more match, on the far side as seen from where the page was bound. */
  readonly more: boolean;
}

/** The page that a search for it gave, one match more than the page holds at most. */
export function connectionPage(
  model: FhirModel,
  request: SearchRequest,
  target: ReferenceTarget | undefined,
  { matches, total }: SearchPage,
): ConnectionPage {
  const { count, query } = request;
  const more = count !== undefined && matches.length > count;
  const kept = !more ? matches : query.before === undefined ? matches.slice(0, count) : matches.slice(-count);
  return { model, request, target, matches: kept, total, more };
}

/**
 * The fields of a connection. See https://hl7.org/fhir/R4/graphql.html#paging.
 *
 * @param kept the matches that the `fhirpath` argument leaves of the page
 */
export function answerConnection(
  shape: ConnectionShape,
  page: ConnectionPage,
  kept: readonly StoredResource[],
  run: Run,
): Output {
  const { request, total } = page;
  const out: Output = {};
  for (const field of shape.fields) {
    switch (field.part) {
      case 'typename':
        out[field.key] = field.value;
        break;
      case 'edges':
        out[field.key] = kept.map((match) => answerEdge(field.fields, match, run));
        break;
      case 'count':
        out[field.key] = total ?? null;
        break;
      case 'offset':
        out[field.key] = request.offset;
        break;
      case 'pagesize':
        out[field.key] = request.count ?? defaultPageSize(run);
        break;
      default:
        out[field.key] = cursorTo(field.part, page, run);
    }
  }
  return out;
}

/** Without `_count` all matches are one page. Dialect `hl7` says how many it may hold, since pagesize is a number there. */
function defaultPageSize({ options: { dialect, limits } }: Run): number | null {
  return dialect === 'hl7' ? limits.listSize : null;
}

function answerEdge(fields: readonly ConnectionEdgeField[], match: StoredResource, run: Run): Output {
  const out: Output = {};
  for (const field of fields) {
    if (field.part === 'typename') out[field.key] = field.value;
    else if (field.part === 'resource') out[field.key] = projectResource(field.selection, match.resource, run);
    else out[field.key] = field.part === 'mode' ? 'match' : null;
  }
  return out;
}

/** A cursor to another page; null where there is none: without `_count`, all matches are one page. */
function cursorTo(part: CursorPart, page: ConnectionPage, run: Run): string | null {
  const { request, target } = page;
  if (request.count === undefined || request.count === 0) return null;
  const place = PLACES[part](page);
  if (place === undefined) return null;
  const { type } = request.query;
  const bounds = { after: undefined, before: undefined, ...place };
  return encodeCursor({ type, search: request.search, target, ...bounds }, run.options.store.caller);
}

interface Place {
  readonly after?: SearchPosition;
  readonly before?: SearchPosition;
  readonly offset: number | null;
}

const PLACES: { readonly [Part in CursorPart]: (page: ConnectionPage) => Place | undefined } = {
  first: (page) => (isEmpty(page) ? undefined : { offset: 0 }),
  last: (page) => (isEmpty(page) ? undefined : lastPage(page)),
  next(page) {
    const { model, request, matches, more } = page;
    const last = matches.at(-1);
    // A page that ends before a position was come to from the other side; one without matches stands before all of them.
    if (request.query.before !== undefined) {
      if (last === undefined) return { offset: 0 };
      return isEnd(request)
        ? undefined
        : { after: positionAt(model, last, request), offset: plus(request.offset, matches.length) };
    }
    return more
      ? { after: positionAt(model, last!, request), offset: plus(request.offset, matches.length) }
      : undefined;
  },
  previous(page) {
    const { model, request, matches, more } = page;
    const { query, offset, count } = request;
    const [first] = matches;
    if (query.before === undefined && query.after === undefined && offset === 0) return undefined;
    if (query.before !== undefined && !more) return undefined;
    if (first === undefined) return lastPage(page);
    return { before: positionAt(model, first, request), offset: plus(offset, -count!) };
  },
};

/** Nothing to page through, as far as this page can tell. */
function isEmpty({ request, matches }: ConnectionPage): boolean {
  const { after, before } = request.query;
  return matches.length === 0 && after === undefined && before === undefined && request.offset === 0;
}

function isEnd({ query }: SearchRequest): boolean {
  return query.before?.id === endOf(query.sort).id;
}

/** The last matches, as many as a page holds. */
function lastPage({ request, total }: ConnectionPage): Place {
  const offset = total === undefined ? null : Math.max(0, total - request.count!);
  return { before: endOf(request.query.sort), offset };
}

function plus(offset: number | null, more: number): number | null {
  return offset === null ? null : Math.max(0, offset + more);
}

/**
 * Where a match stands, as far as its caller can see: under a sort by what is hidden it has no value, and the guard leaves
 * out that sort together with its value.
 */
function positionAt(model: FhirModel, { resource }: StoredResource, { query, baseUrl }: SearchRequest): SearchPosition {
  const subject = localized(createSubject(model, resource, resource.meta?.lastUpdated ?? ''), baseUrl);
  const { values, id } = positionOf(subject, query.sort);
  return { values: values.map((value) => (Number.isNaN(value) ? null : value)), id };
}
