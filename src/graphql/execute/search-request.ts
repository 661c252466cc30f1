import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { GuardedQuery } from '../../access/contract.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { type AnyResource, isResourceId, isJsonObject } from '../../fhir/resource.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { fhirpathFilter } from '../../fhirpath/compile.js';
import type { StepMeter } from '../../fhirpath/step-budget.js';
import { and, type Criteria, or } from '../../search/criteria/criteria.js';
import { createParseContext } from '../../search/parse/parse-context.js';
import { parseFilterIn } from '../../search/parse/filter/parse-filter.js';
import { parseParameterIn } from '../../search/parse/parse-parameter.js';
import { parseSort } from '../../search/parse/parse-search.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import { LimitError, type Limits } from '../limits.js';
import type { SearchEdge } from '../plan/plan.js';
import {
  windowBounds,
  cursorText,
  damagedCursor,
  isCount,
  isNullOr,
  isPosition,
  MAX_CURSOR_LENGTH,
  openingWindow,
  type PageWindow,
  readCursor,
} from '../../interactions/pages.js';
import type { RunOptions } from './run.js';
import { evaluateSingle, evaluateTexts, type Variables } from '../plan/arguments.js';
import { argumentName } from '../schema/fields.js';
import { pageNumber } from './item-list.js';
import type { Caller } from '../../access/caller.js';

/** The search requested by a field's arguments or by a cursor. */
export interface SearchRequest {
  readonly search: SearchArguments;
  readonly query: GuardedQuery;
  /** Code of the reverse reference parameter; undefined at the root. */
  readonly reference: string | undefined;
  /** The target of a reverse connection's cursor; undefined without one. */
  readonly target: ReferenceTarget | undefined;
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
      ...windowBounds(window),
      limit: limitOf(edge.shape, count, options),
      total: edge.shape.kind === 'connection' && edge.shape.total,
    },
    reference,
    target: cursor?.target,
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
  const context = createParseContext(options.store.model, { modifiers: false, now: options.now });
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
  return (resource, meter) => keep(resource, { resource, container: Container.of(model, resource), meter });
}

/** The arguments of a search field with this request's variables, as plain data for cursors. */
interface SearchArguments {
  /** Codes of search parameters with their values: any of these. */
  readonly parameters: readonly (readonly [code: string, values: readonly string[]])[];
  /** `_filter`; several: any of them. */
  readonly filters?: readonly string[] | undefined;
  readonly sort?: readonly string[] | undefined;
  /** `_count`. */
  readonly count?: number | undefined;
  readonly fhirpath?: string | undefined;
  /** Code of the parameter in `_reference`; undefined at the root. */
  readonly reference?: string | undefined;
  /** `_offset` of the first page, unless 0. */
  readonly offset?: number | undefined;
}

/** @throws FhirError `invalid` - an argument that is invalid for every search */
function searchArguments(model: FhirModel, edge: SearchEdge, variables: Variables): SearchArguments {
  const expression = evaluateSingle('fhirpath', edge.controls.fhirpath, variables);
  return {
    parameters: edge.parameters.flatMap(({ code, values }): [string, string[]][] => {
      const texts = evaluateTexts(values, variables);
      return texts === undefined ? [] : [[code, texts]];
    }),
    filters: evaluateTexts(edge.controls._filter, variables),
    sort: evaluateTexts(edge.controls._sort, variables),
    count: pageNumber('_count', edge.controls._count, variables),
    fhirpath: expression === undefined ? undefined : String(expression),
    reference:
      edge.reverse === undefined
        ? undefined
        : referenceCode(model, edge.type, evaluateSingle('_reference', edge.reverse, variables)),
    offset: pageNumber('_offset', edge.controls._offset, variables) || undefined,
  };
}

/** The text of `cursor`; undefined if absent. @throws FhirError `invalid` - `cursor` and `_cursor` differ */
function cursorArgument(edge: SearchEdge, variables: Variables): string | undefined {
  const [cursor, second] = edge.cursors.flatMap((argument) => evaluateTexts(argument, variables) ?? []);
  if (second === undefined || second === cursor) return cursor;
  throw new FhirError('invalid', '"cursor" and "_cursor" name different pages; give one of them');
}

/**
 * Clients may repeat the arguments of a search together with its cursor, which contains all of them.
 *
 * @throws FhirError `invalid` - an argument differs from the cursor
 */
function assertSameSearch(given: SearchArguments, held: SearchArguments): void {
  const known = new Map(held.parameters);
  const pairs: (readonly [name: string, given: unknown, held: unknown])[] = [
    ...given.parameters.map(([code, texts]) => [code, texts, known.get(code)] as const),
    ['_filter', given.filters, held.filters],
    ['_sort', given.sort, held.sort],
    ['_count', given.count, held.count],
    ['_offset', given.offset, held.offset],
    ['fhirpath', given.fhirpath, held.fhirpath],
  ];
  const other = pairs.find(([, one, another]) => one !== undefined && JSON.stringify(one) !== JSON.stringify(another));
  if (other === undefined) return;
  throw new FhirError(
    'invalid',
    `A cursor holds the whole search, but "${other[0]}" differs from it: repeat the arguments of the first page, or none`,
  );
}

/** Validation has checked literals; variables are only known now. */
function referenceCode(model: FhirModel, type: string, name: unknown): string {
  if (typeof name === 'string') {
    // Most names are codes as they are.
    const exact = model.searchParameter(type, name);
    if (exact?.type === 'reference') return exact.code;
    for (const parameter of model.searchParameters(type).values()) {
      if (parameter.type === 'reference' && argumentName(parameter.code) === argumentName(name)) return parameter.code;
    }
  }
  throw new FhirError('invalid', `Argument "_reference" must name a reference parameter of ${type}`);
}

/** The page of a search that a cursor represents. */
interface Cursor {
  readonly type: string;
  /** The whole search. */
  readonly search: SearchArguments;
  /** The target of a reverse connection; undefined at the root. */
  readonly target: ReferenceTarget | undefined;
  /** The start or end of the page; its size is part of the search. */
  readonly bounds: Omit<PageWindow, 'count'>;
}

/** Increases when the meaning of the content changes. */
const VERSION = 1;

/**
 * Writes a cursor: the search and the position. The search runs with the rights of the sender, as if written out in the
 * query.
 *
 * @throws FhirError `too-costly` - the search, or a sort value, is too long
 */
export function encodeCursor({ type, search, target, bounds }: Cursor, caller: Caller): string {
  const { after, before, offset } = bounds;
  const content = [VERSION, type, search, target ?? null, after ?? null, before ?? null, offset];
  const text = cursorText(content, caller);
  if (text.length <= MAX_CURSOR_LENGTH) return text;
  const message = `A cursor to this page would have ${text.length} characters, at most ${MAX_CURSOR_LENGTH} are allowed`;
  throw new FhirError('too-costly', `${message}: shorten the search, or page with _offset`, {
    details: { max: MAX_CURSOR_LENGTH, value: text.length },
  });
}

/**
 * Reads a cursor.
 *
 * @throws FhirError `invalid` - malformed, modified, or of another connection or caller
 */
function decodeCursor(text: string, type: string, caller: Caller): Cursor {
  const cursor = cursorFrom(readCursor(text, caller));
  if (cursor === undefined) throw damagedCursor();
  if (cursor.type !== type) {
    throw new FhirError('invalid', `The cursor belongs to ${cursor.type}Connection, not to ${type}Connection`);
  }
  return cursor;
}

function cursorFrom(content: unknown): Cursor | undefined {
  if (!Array.isArray(content) || content.length !== 7 || content[0] !== VERSION) return undefined;
  const [, type, search, target, after, before, offset] = content as unknown[];
  if (typeof type !== 'string' || !isSearch(search)) return undefined;
  if (!isNullOr(isTarget, target) || !isNullOr(isPosition, after) || !isNullOr(isPosition, before)) return undefined;
  if (!isNullOr(isCount, offset) || (search.reference === undefined) !== (target === null)) return undefined;
  return {
    type,
    search,
    target: target ?? undefined,
    bounds: { after: after ?? undefined, before: before ?? undefined, offset },
  };
}

function isSearch(value: unknown): value is SearchArguments {
  if (!isJsonObject(value)) return false;
  const { parameters, filters, sort, count, fhirpath, reference, offset } = value;
  return (
    Array.isArray(parameters) &&
    parameters.every((pair: unknown) => Array.isArray(pair) && typeof pair[0] === 'string' && isTexts(pair[1])) &&
    (filters === undefined || isTexts(filters)) &&
    (sort === undefined || isTexts(sort)) &&
    isCount(count) &&
    (offset === undefined || isCount(offset)) &&
    (fhirpath === undefined || typeof fhirpath === 'string') &&
    (reference === undefined || typeof reference === 'string')
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTarget(value: unknown): value is ReferenceTarget {
  return (
    isJsonObject(value) && typeof value.type === 'string' && typeof value.id === 'string' && isResourceId(value.id)
  );
}
