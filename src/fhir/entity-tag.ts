import { isResourceId } from './resource.js';

/** The weak entity tag of a version: `W/"3"`. See https://hl7.org/fhir/R4/http.html#versioning. */
export function entityTag(versionId: string): string {
  return `W/"${versionId}"`;
}

/**
 * Reads the version id from an entity tag: `3`, `"3"` and `W/"3"` all name version 3.
 *
 * @returns undefined for text that is not an entity tag
 */
export function versionOfEntityTag(text: string): string | undefined {
  const version = /^(?:W\/)?"([^"]*)"$/.exec(text)?.[1] ?? text;
  return isResourceId(version) ? version : undefined;
}
