import { entityTag } from '../fhir/entity-tag.js';
import { isJsonObject } from '../fhir/resource.js';

/** Entity tag and date of a version, where the caller sees them. See https://hl7.org/fhir/R4/http.html#versioning. */
export function versionHeaders({ meta }: { readonly meta?: unknown }): { [name: string]: string } {
  const { versionId, lastUpdated } = isJsonObject(meta) ? meta : {};
  const updated = typeof lastUpdated === 'string' ? new Date(lastUpdated) : undefined;
  return {
    ...(typeof versionId === 'string' ? { etag: entityTag(versionId) } : {}),
    ...(updated === undefined || Number.isNaN(updated.getTime()) ? {} : { 'last-modified': updated.toUTCString() }),
  };
}
