import { referenceTo } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { inTurns } from '../../platform/pace.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { SearchPage } from '../../store/search-query.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { LimitError } from '../limits.js';
import { selectionOf } from '../plan/estimate-cost.js';
import type { SearchEdge, Selection, ConnectionEdgeField, ConnectionShape } from '../plan/plan.js';
import { call, type Output, type SearchHole, type Run, type Waiting } from './run.js';
import { type CursorPart, cutPage, neighbourOf, positionAt, type WindowedPage } from '../../interactions/pages.js';
import { searchReferrers } from './fill-references.js';
import { projectResource } from './project.js';
import { elementsOfSearches } from './read-elements.js';
import { shapeItems } from './item-list.js';
import { cursorOf, searchRequest, type SearchRequest, encodeCursor } from './search-request.js';
import { endOf } from '../../search/evaluate/sort.js';

/**
 * Fills equal searches: one search at the root, or one search by reference for all parents of a reverse list.
 *
 * Their selections may differ, so each field projects the matches separately.
 */
export async function fillSearches(waiting: readonly Waiting<SearchEdge, SearchHole>[], run: Run): Promise<void> {
  const { store } = run.options;
  const { options } = run.deadline;
  const { edge } = waiting[0]!;
  const request = searchRequest(edge, await cursorOf(edge, run.options), run.options, run);
  const { reference } = request;
  const elements = run.options.trace === undefined ? elementsOfSearches(waiting.map((one) => one.edge)) : undefined;
  const query = { ...request.query, elements };
  if (reference === undefined) {
    const page = await call(run, () => store.search(query, options));
    return fillAll(waiting, () => ({ request, page, target: undefined }), run);
  }
  const targets = new Map<string, ReferenceTarget>();
  for (const { holes } of waiting) {
    for (const { target = request.target } of holes) if (target !== undefined) targets.set(nameOf(target), target);
  }
  const pages = new Map<string, SearchPage>();
  if (targets.size > 0) {
    const lists = await searchReferrers(query, reference, [...targets.values()], run);
    [...targets.keys()].forEach((name, index) => pages.set(name, lists[index]!));
  }
  await fillAll(
    waiting,
    ({ target = request.target }) => ({
      request,
      page: target === undefined ? EMPTY : pages.get(nameOf(target))!,
      target,
    }),
    run,
  );
}

async function fillAll(
  waiting: readonly Waiting<SearchEdge, SearchHole>[],
  find: (hole: SearchHole) => Found,
  run: Run,
): Promise<void> {
  const filling = waiting.map(({ edge, holes }) => ({ edge, holes, found: holes.map(find) }));
  // All rows are counted before the first of them is projected.
  for (const { edge, found } of filling) {
    run.spendRows(
      found.reduce((sum, one) => sum + rowsOf(edge, one, run), 0),
      selectionOf(edge),
    );
  }
  for (const { edge, holes, found } of filling) {
    for (const [index, { out }] of holes.entries()) {
      try {
        if (run.isLookDue && run.pace.isSpent) await run.pace.next();
        out[edge.key] = await answerSearch(edge, found[index]!, out, run);
      } catch (error) {
        run.fail(out, edge, error);
      }
    }
  }
}

async function answerSearch(edge: SearchEdge, found: Found, out: Output, run: Run): Promise<unknown> {
  const { request, page, target } = found;
  const { shape } = edge;
  if (shape.kind === 'list') return answerList(edge, shape.selection, await kept(page.matches, request, run), out, run);
  const part = { ...cutPage(request.window, page), request, target };
  return answerConnection(shape, part, await kept(part.matches, request, run), run);
}

function nameOf({ type, id }: ReferenceTarget): string {
  return referenceTo(type, id);
}

const EMPTY: SearchPage = Object.freeze({ matches: Object.freeze([]), total: 0 });

interface Found {
  readonly request: SearchRequest;
  readonly page: SearchPage;
  readonly target: ReferenceTarget | undefined;
}

/** @throws LimitError `listSize` */
function rowsOf(edge: SearchEdge, { request, page }: Found, run: Run): number {
  const { listSize } = run.options.limits;
  const { length } = page.matches;
  if (request.window.count !== undefined || length <= listSize) return length;
  throw new LimitError(
    'listSize',
    listSize,
    `${edge.key} has more than ${listSize} matches; narrow the search, or page with _count and _offset`,
  );
}

async function answerList(
  edge: SearchEdge,
  selection: Selection,
  matches: Matches,
  out: Output,
  run: Run,
): Promise<unknown[]> {
  const resources = matches.map(({ resource }) => resource);
  const [first] = resources;
  const shaped =
    first === undefined ? [] : await inTurns(shapeItems(edge, edge.type, resources, out, first, run), run.pace);
  return projectItems(shaped as readonly AnyResource[], (resource) => projectResource(selection, resource, run), run);
}

type Matches = readonly StoredResource[];

/** The matches that pass the `fhirpath` argument. */
async function kept(matches: Matches, { keep }: SearchRequest, run: Run): Promise<Matches> {
  if (keep === undefined) return matches;
  const passed: StoredResource[] = [];
  for (const match of matches) {
    if (run.pace.isSpent) await run.pace.next();
    if (keep(match.resource, run)) passed.push(match);
  }
  return passed;
}

/** One page of a connection and its search. */
interface ConnectionPage extends WindowedPage<StoredResource> {
  readonly request: SearchRequest;
  /** The target of a reverse connection; undefined at the root. */
  readonly target: ReferenceTarget | undefined;
}

/**
 * The fields of a connection. See https://hl7.org/fhir/R4/graphql.html#paging.
 *
 * @param kept the matches of the page that pass the `fhirpath` argument
 */
async function answerConnection(
  shape: ConnectionShape,
  page: ConnectionPage,
  kept: readonly StoredResource[],
  run: Run,
): Promise<Output> {
  const { window, total } = page;
  const { type } = page.request.query;
  const out: Output = {};
  for (const field of shape.fields) {
    switch (field.part) {
      case 'typename':
        out[field.key] = field.value;
        break;
      case 'edges':
        if (!field.fields.some(({ part }) => part === 'resource')) run.options.trace?.count(type, kept.length);
        out[field.key] = await projectItems(kept, (match) => answerEdge(field.fields, match, run), run);
        break;
      case 'count':
        if (total !== undefined) run.options.trace?.count(type, total);
        out[field.key] = total ?? null;
        break;
      case 'offset':
        out[field.key] = window.offset;
        break;
      case 'pagesize':
        out[field.key] = window.count ?? defaultPageSize(run);
        break;
      default:
        out[field.key] = cursorTo(field.part, page, run);
    }
  }
  return out;
}

/**
 * Without `_count` all matches are one page. Dialect `hl7` returns the maximum page size, since its pagesize is not
 * nullable.
 */
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

/** The cursor of another page; null if no such page exists. */
function cursorTo(part: CursorPart, page: ConnectionPage, { options: { store } }: Run): string | null {
  const { request, target } = page;
  const { type, sort } = request.query;
  const bounds = neighbourOf(part, page, {
    position: (match) => positionAt(store.model, match, sort),
    end: endOf(sort),
  });
  return bounds === undefined ? null : encodeCursor({ type, search: request.search, target, bounds }, store.caller);
}

/** Projects the items of a list. Other work runs between the items of a long one. */
async function projectItems<Item, Projected>(
  items: readonly Item[],
  project: (item: Item) => Projected,
  run: Run,
): Promise<Projected[]> {
  const list: Projected[] = [];
  for (const item of items) {
    if (run.isLookDue && run.pace.isSpent) await run.pace.next();
    list.push(project(item));
  }
  return list;
}
