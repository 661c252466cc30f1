import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { GuardedQuery } from '../../access/contract.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { trimBaseUrl } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { fhirpathFilter } from '../../fhirpath/filter.js';
import type { StepMeter } from '../../fhirpath/step-budget.js';
import { and, type Criteria, or } from '../../search/criteria/criteria.js';
import { createParseContext } from '../../search/parse/parse-context.js';
import { parseFilterIn } from '../../search/parse/filter/parse-filter.js';
import { parseParameterIn } from '../../search/parse/parse-parameter.js';
import { parseSort } from '../../search/parse/parse-sort.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import { LimitError, type Limits } from '../limits.js';
import type { SearchEdge } from '../plan/plan.js';
import { type Cursor, decodeCursor } from './cursor.js';
import { boundsOf, openingWindow, type PageWindow } from '../../interactions/pages/page-window.js';
import type { RunOptions } from './run.js';
import { assertSameSearch, cursorArgument, searchArguments, type SearchArguments } from './search-arguments.js';

/** The search requested by a field's arguments or by a cursor. */
export interface SearchRequest {
  readonly search: SearchArguments;
  readonly query: GuardedQuery;
  /** Code of the reverse reference parameter; undefined at the root. */
  readonly reference: string | undefined;
  /** The target of a reverse connection's cursor; undefined without one. */
  readonly target: ReferenceTarget | undefined;
  /** The service's own base, without a trailing slash. */
  readonly baseUrl: string | undefined;
  readonly window: PageWindow;
  /** The `fhirpath` argument, applied to each match of the page. */
  readonly keep: ((resource: AnyResource, meter: StepMeter) => boolean) | undefined;
}

/**
 * Decodes the cursor of a search field, and loads FHIRPath for its `fhirpath` argument, which may be absent from the
 * document.
 *
 * @throws FhirError `invalid` - a malformed cursor
 */
export async function cursorOf(edge: SearchEdge, options: RunOptions): Promise<Cursor | undefined> {
  const text = cursorArgument(edge, options.variables);
  if (text === undefined) return undefined;
  const cursor = decodeCursor(text, edge.type, options.store.caller);
  if (cursor.search.fhirpath !== undefined) await loadFhirPath(options.store.model);
  return cursor;
}

/**
 * Reads the arguments of a search field.
 *
 * @param cursor from {@link cursorOf}
 * @param meter meters the `fhirpath` argument; it may throw to end the request
 * @throws FhirError `invalid` - a malformed search value, sort, filter or cursor
 * @throws LimitError `listSize` - the requested page is larger than a list may be
 */
export function searchRequest(
  edge: SearchEdge,
  cursor: Cursor | undefined,
  options: RunOptions,
  meter?: StepMeter,
): SearchRequest {
  const { variables } = options;
  const given = searchArguments(options.store.model, edge, variables);
  if (cursor !== undefined) assertSameSearch(given, cursor.search);
  const search = cursor?.search ?? given;
  const { reference, count, sort } = search;
  if (cursor !== undefined) assertSearchable(options.store.model, cursor);
  assertPageSize(count, options.limits);
  const window = cursor === undefined ? openingWindow(count, search.offset ?? 0) : { ...cursor.bounds, count };
  return {
    search,
    query: {
      type: edge.type,
      criteria: criteriaOf(edge.type, search, options),
      sort: sort === undefined ? undefined : parseSort(options.store.model, edge.type, sort),
      ...boundsOf(window),
      limit: limitOf(edge.shape, count, options),
      total: edge.shape.kind === 'connection' && edge.shape.total,
    },
    reference,
    target: cursor?.target,
    baseUrl: trimBaseUrl(options.baseUrl),
    window,
    keep:
      search.fhirpath === undefined
        ? undefined
        : resourceFilter(options.store.model, search.fhirpath, edge.type, meter),
  };
}

/** Requests one extra match, to detect a next page or a list that is too long. */
function limitOf(shape: SearchEdge['shape'], count: number | undefined, { limits }: RunOptions): number {
  if (count === 0 || (shape.kind === 'connection' && !shape.matches)) return 0;
  if (count === undefined) return limits.listSize + 1;
  return shape.kind === 'connection' && shape.cursors ? count + 1 : count;
}

function criteriaOf(type: string, { parameters, filters }: SearchArguments, options: RunOptions): Criteria {
  // All filters share one budget of comparisons.
  const context = createParseContext(options.store.model, {
    modifiers: false,
    baseUrl: options.baseUrl,
    now: options.now,
  });
  const criteria = parameters.map(([code, texts]) => parseParameterIn(context, type, code, texts));
  if (filters !== undefined) criteria.push(or(filters.map((text) => parseFilterIn(context, type, text))));
  return and(criteria);
}

/** Arguments were validated against the schema; the content of a cursor was not. */
function assertSearchable(model: FhirModel, { type, search: { reference } }: Cursor): void {
  if (reference === undefined || model.searchParameters(type).get(reference)?.type === 'reference') return;
  throw new FhirError('invalid', `The cursor names no reference parameter of ${type}`);
}

/** @throws LimitError `listSize` */
export function assertPageSize(count: number | undefined, { listSize }: Limits): void {
  if (count === undefined || count <= listSize) return;
  const message = `A page holds at most ${listSize} resources; ${count} were asked for`;
  throw new LimitError('listSize', listSize, message, count);
}

function resourceFilter(
  model: FhirModel,
  expression: string,
  type: string,
  compiling: StepMeter | undefined,
): NonNullable<SearchRequest['keep']> {
  compiling?.spendExpression(expression);
  const keep = fhirpathFilter(model, expression, type);
  return (resource, meter) => keep(resource, { resource, container: Container.of(resource), meter });
}
