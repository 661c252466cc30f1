import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import type { SortKey } from '../criteria/criteria.js';
import { quote } from '../../fhir/messages/quote.js';
import { requireParameter } from './require-parameter.js';

/**
 * Parses `_sort`: parameter codes separated by commas, with a minus for descending order.
 *
 * The first occurrence of a repeated parameter counts. See https://hl7.org/fhir/R4/search.html#sort.
 *
 * @param texts one or more `_sort` values; in order.
 * @throws FhirError `invalid` - an unknown parameter, an empty key, a composite parameter.
 * @throws FhirError `unsupported` - `_score`, or a parameter of type special.
 * @example
 * parseSort('Observation', ['-date,code']); // [{ parameter: 'date', descending: true }, { parameter: 'code', … }]
 */
export function parseSort(model: FhirModel, type: string, texts: readonly string[]): SortKey[] {
  const keys = new Map<string, SortKey>();
  for (const text of texts) {
    for (const part of text.split(',', MAX_KEYS + 1)) {
      const descending = part.startsWith('-');
      const parameter = descending ? part.slice(1) : part;
      assertSortable(model, type, parameter, text);
      if (!keys.has(parameter)) keys.set(parameter, { parameter, descending });
    }
  }
  return [...keys.values()];
}

/** No type has this many parameters, so further keys would be repetitions. */
const MAX_KEYS = 200;

function assertSortable(model: FhirModel, type: string, parameter: string, text: string): void {
  if (parameter === '') {
    throw new FhirError(
      'invalid',
      `"_sort" takes search parameters such as "-date,code", but ${quote(text)} has an empty one`,
    );
  }
  if (requireParameter(model, type, parameter).type === 'composite') {
    throw new FhirError('invalid', `"_sort" cannot order by composite search parameter "${parameter}"`);
  }
}
