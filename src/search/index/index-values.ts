import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { ElementDefinition, SearchParameterType } from '../../fhir/model/definition-types.js';
import { indexDate } from './index-date.js';
import { indexNumber, indexQuantity } from './index-quantity.js';
import { indexReference } from './index-reference.js';
import { indexString } from './index-string.js';
import { indexToken } from './index-token.js';
import type { IndexWriter } from './index-writer.js';
import type { ValueIndexer } from './value-indexer.js';

/**
 * Chooses the indexer for values of a FHIR type under a type of search parameter.
 *
 * See the tables of https://hl7.org/fhir/R4/search.html#ptypes.
 *
 * @param type name of the FHIR type: `CodeableConcept`, `dateTime`.
 * @param element the element, if known: its binding gives the system of a `code`.
 * @returns undefined if the parameter type cannot index such values.
 */
export function valueIndexer(
  model: FhirModel,
  parameterType: SearchParameterType,
  type: string,
  element?: ElementDefinition,
): ValueIndexer | undefined {
  switch (parameterType) {
    case 'token':
      return indexToken(type, element?.codeSystem);
    case 'string':
      return indexString(type);
    case 'date':
      return indexDate(type);
    case 'number':
      return indexNumber(type);
    case 'quantity':
      return indexQuantity(type);
    case 'reference':
      return indexReference(model, type);
    case 'uri':
      return indexUri;
    case 'composite':
    case 'special':
      return undefined;
  }
}

function indexUri(value: unknown, writer: IndexWriter): void {
  if (typeof value === 'string' && value !== '') writer.add({ kind: 'uri', value });
}
