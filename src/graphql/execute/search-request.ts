import { FhirError } from '../../fhir/error.js';
import { searchParameters } from '../../fhir/definitions.js';
import type { AnyResource } from '../../fhir/resource.js';
import { fhirpathFilter } from '../../fhirpath/filter.js';
import { and, or, type Criteria } from '../../search/criteria.js';
import { parseFilter } from '../../search/parse-filter.js';
import { parseParameter } from '../../search/parse-parameter.js';
import { parseSort } from '../../search/parse-sort.js';
import type { GuardedQuery } from '../../access/guarded-store.js';
import { LimitError } from '../limits.js';
import { evaluate, evaluateTexts } from '../plan/arguments.js';
import type { SearchEdge } from '../plan/plan.js';
import { argumentName } from '../schema/fields.js';
import { pageNumber } from './item-filter.js';
import type { RunOptions } from './run.js';

/** What the arguments of a search field ask for, with this request's variables. */
export interface SearchRequest {
  readonly query: GuardedQuery;
  /** Code of the parameter that points back; undefined at the root. */
  readonly reference: string | undefined;
  /** `_count`, as asked. */
  readonly count: number | undefined;
  readonly offset: number;
  /** The `fhirpath` argument, to be asked of each match of the page. */
  readonly keep: ((resource: AnyResource) => boolean) | undefined;
}

/**
 * Reads the arguments of a search field.
 *
 * @throws FhirError `invalid` - a malformed search value, sort or filter
 * @throws LimitError `listSize` - a larger page is asked for than a list may hold
 */
export function searchRequest(edge: SearchEdge, options: RunOptions): SearchRequest {
  const { variables, limits } = options;
  const context = { baseUrl: options.baseUrl, now: options.now };
  const criteria: Criteria[] = [];
  for (const { code, values } of edge.parameters) {
    const texts = evaluateTexts(values, variables);
    if (texts !== undefined) criteria.push(parseParameter(edge.type, code, texts, { modifiers: false, ...context }));
  }
  const filters = evaluateTexts(edge.filter, variables);
  if (filters !== undefined) criteria.push(or(filters.map((text) => parseFilter(edge.type, text, context))));
  const sort = evaluateTexts(edge.sort, variables);
  const count = pageNumber('_count', edge.count, variables);
  const offset = pageNumber('_offset', edge.offset, variables) ?? 0;
  if (count !== undefined && count > limits.listSize) {
    throw new LimitError(
      'listSize',
      limits.listSize,
      `A page holds at most ${limits.listSize} resources; ${count} were asked for`,
      count,
    );
  }
  const wanted = edge.shape.kind === 'list' || edge.shape.matches;
  return {
    query: {
      type: edge.type,
      criteria: and(criteria),
      sort: sort === undefined ? undefined : parseSort(edge.type, sort),
      offset,
      // One more than a list may hold tells a full list from one that is too long.
      limit: wanted ? (count ?? limits.listSize + 1) : 0,
      total: edge.shape.kind === 'connection' && edge.shape.total,
    },
    reference: edge.reverse === undefined ? undefined : referenceCode(edge.type, evaluate(edge.reverse, variables)),
    count,
    offset,
    keep: resourceFilter(edge, options),
  };
}

/** The code that `_reference` names; validation has looked at literals, variables are known only now. */
function referenceCode(type: string, name: unknown): string {
  if (typeof name === 'string') {
    for (const parameter of searchParameters(type).values()) {
      if (parameter.type === 'reference' && argumentName(parameter.code) === argumentName(name)) return parameter.code;
    }
  }
  throw new FhirError('invalid', `Argument "_reference" must name a reference parameter of ${type}`);
}

function resourceFilter(edge: SearchEdge, options: RunOptions): SearchRequest['keep'] {
  const expression = evaluate(edge.fhirpath, options.variables);
  if (expression === undefined) return undefined;
  const keep = fhirpathFilter(String(expression), edge.type);
  return (resource) => keep(resource, { resource });
}
