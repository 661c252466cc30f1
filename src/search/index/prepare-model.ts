import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { loadFhirPath } from '../../fhirpath/library.js';
import { isNative } from './index-expression.js';

/**
 * Makes a model ready to index resources by: where an expression of a search parameter needs the FHIRPath library, the
 * library is loaded.
 *
 * Indexing is synchronous everywhere, so await this for a new model before a store gets it. R4 needs nothing.
 */
export async function prepareModel(model: FhirModel): Promise<FhirModel> {
  if (indexNeedsFhirPath(model)) await loadFhirPath();
  return model;
}

/** Whether some search parameter, or a part of one, is neither a plain path nor an expression with a function of its own. */
export function indexNeedsFhirPath(model: FhirModel): boolean {
  return model.resourceTypes.some((type) =>
    [...model.searchParameters(type).values()].some((parameter) =>
      [parameter, ...(parameter.components ?? [])].some(
        ({ path, expression }) => path === undefined && !isNative(expression),
      ),
    ),
  );
}
