import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { isNative } from './index-expression.js';

/**
 * Prepares a model for indexing: loads the FHIRPath library if an expression of a search parameter needs it.
 *
 * Indexing is synchronous everywhere, so await this for a new model before a store gets it. R4 needs nothing.
 */
export async function prepareModel(model: FhirModel): Promise<FhirModel> {
  if (indexNeedsFhirPath(model)) await loadFhirPath();
  return model;
}

/** Whether a search parameter, or a part of one, is neither a plain path nor an expression with a native function. */
export function indexNeedsFhirPath(model: FhirModel): boolean {
  return model.resourceTypes.some((type) =>
    [...model.searchParameters(type).values()].some((parameter) =>
      [parameter, ...(parameter.components ?? [])].some(
        ({ path, expression }) => path === undefined && !isNative(expression),
      ),
    ),
  );
}
