import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { parseJsonText } from '../../store/json-text.js';
import type { StoredResource } from '../../store/store.js';

/** Parses a version's text into a resource and the facts in its `meta`. @throws FhirError `corrupt` */
export function parseStored(text: string): StoredResource {
  let resource: AnyResource;
  try {
    resource = parseJsonText(text);
  } catch (cause) {
    throw new FhirError('corrupt', 'The database holds a resource that is not JSON', { cause });
  }
  const { versionId, lastUpdated } = resource.meta ?? {};
  if (versionId === undefined || lastUpdated === undefined) {
    throw new FhirError('corrupt', 'The database holds a resource without a version');
  }
  return { versionId, lastUpdated, resource };
}
