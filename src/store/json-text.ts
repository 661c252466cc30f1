import { FhirError } from '../fhir/error.js';
import { type AnyResource } from '../fhir/resource.js';

/**
 * The JSON text a store keeps.
 *
 * @throws FhirError `unprocessable` - nested too deeply for JSON, circular, or holding what JSON cannot (a bigint).
 */
export function jsonText(resource: AnyResource): string {
  try {
    return JSON.stringify(resource);
  } catch (cause) {
    const where = `${resource.resourceType}/${resource.id ?? ''}`;
    throw new FhirError('unprocessable', `${where} cannot be written as JSON: nested too deeply, circular or no JSON`, {
      cause,
    });
  }
}
