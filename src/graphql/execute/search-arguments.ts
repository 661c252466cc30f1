import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { evaluateSingle, evaluateTexts, type Variables } from '../plan/arguments.js';
import type { SearchEdge } from '../plan/plan.js';
import { argumentName } from '../schema/fields.js';
import { pageNumber } from './item-filter.js';

/** The arguments of a search field with this request's variables, as plain data for cursors. */
export interface SearchArguments {
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
export function searchArguments(model: FhirModel, edge: SearchEdge, variables: Variables): SearchArguments {
  const expression = evaluateSingle('fhirpath', edge.fhirpath, variables);
  return {
    parameters: edge.parameters.flatMap(({ code, values }): [string, string[]][] => {
      const texts = evaluateTexts(values, variables);
      return texts === undefined ? [] : [[code, texts]];
    }),
    filters: evaluateTexts(edge.filter, variables),
    sort: evaluateTexts(edge.sort, variables),
    count: pageNumber('_count', edge.count, variables),
    fhirpath: expression === undefined ? undefined : String(expression),
    reference:
      edge.reverse === undefined
        ? undefined
        : referenceCode(model, edge.type, evaluateSingle('_reference', edge.reverse, variables)),
    offset: pageNumber('_offset', edge.offset, variables) || undefined,
  };
}

/** The text of `cursor`; undefined if absent. @throws FhirError `invalid` - `cursor` and `_cursor` differ */
export function cursorArgument(edge: SearchEdge, variables: Variables): string | undefined {
  const [cursor, second] = edge.cursors.flatMap((argument) => evaluateTexts(argument, variables) ?? []);
  if (second === undefined || second === cursor) return cursor;
  throw new FhirError('invalid', '"cursor" and "_cursor" name different pages; give one of them');
}

/**
 * Clients may repeat the arguments of a search together with its cursor, which contains all of them.
 *
 * @throws FhirError `invalid` - an argument differs from the cursor
 */
export function assertSameSearch(given: SearchArguments, held: SearchArguments): void {
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
    // PERF: most names are codes as they are.
    const exact = model.searchParameter(type, name);
    if (exact?.type === 'reference') return exact.code;
    for (const parameter of model.searchParameters(type).values()) {
      if (parameter.type === 'reference' && argumentName(parameter.code) === argumentName(name)) return parameter.code;
    }
  }
  throw new FhirError('invalid', `Argument "_reference" must name a reference parameter of ${type}`);
}
