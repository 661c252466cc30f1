import { quote } from '../../fhir/messages/quote.js';
import { FhirError } from '../../fhir/error.js';
import type { TypeHistoryPage } from '../../repository/repository.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';

/**
 * `_count` and `_offset` of a request that takes nothing else.
 *
 * @param others further parameters, which the caller of this function reads
 * @throws FhirError `invalid` - not whole numbers, given twice, or an unknown parameter
 * @throws FhirError `unsupported` - another parameter of FHIR's histories
 */
export function pageParameters(
  parameters: URLSearchParams,
  others: readonly string[] = [],
): { readonly count?: number; readonly offset?: number } {
  const page: { count?: number; offset?: number } = {};
  for (const [name, value] of parameters) {
    if (FORMAT_PARAMETERS.has(name) || others.includes(name)) continue;
    if (name === '_since' || name === '_at' || name === '_list' || name === '_sort') {
      throw new FhirError('unsupported', `Parameter "${name}" is not supported here`);
    }
    const key = name === '_count' ? 'count' : name === '_offset' ? 'offset' : undefined;
    if (key === undefined) throw new FhirError('invalid', `Unknown parameter ${quote(name)}`);
    if (page[key] !== undefined) throw new FhirError('invalid', `"${name}" may be given once, not several times`);
    if (!/^\d{1,15}$/.test(value)) throw new FhirError('invalid', `"${name}" takes a whole number from 0 up`);
    page[key] = Number(value);
  }
  return page;
}

/**
 * `_count`, `_since` and `_cursor` of the history of a type.
 *
 * @throws FhirError `invalid`, `unsupported` - as for {@link pageParameters}
 */
export function typeHistoryParameters(parameters: URLSearchParams): TypeHistoryPage {
  const others = new URLSearchParams(parameters);
  const read = (name: string): string | undefined => {
    const values = parameters.getAll(name);
    if (values.length > 1) throw new FhirError('invalid', `"${name}" may be given once, not several times`);
    others.delete(name);
    return values[0];
  };
  const [since, cursor] = [read('_since'), read('_cursor')];
  if (others.has('_offset')) throw new FhirError('invalid', 'The history of a type is paged by the links of its pages');
  return { count: pageParameters(others).count, since, cursor };
}
