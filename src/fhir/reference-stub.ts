import { isJsonObject } from './resource.js';
import { parseReference } from './reference.js';

/** The type and id of a reference's target that the Reference states. */
export interface ReferenceStub {
  readonly resourceType: string;
  readonly id?: string;
}

const RESTFUL_URL = /\/([A-Z][A-Za-z]*)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/;

/**
 * Resolves a Reference without reading its target: FHIRPath's `resolve()` in search parameters.
 *
 * The text `Patient/1` gives type and id; otherwise the type comes from `Reference.type` or the form of a foreign URL.
 * See https://hl7.org/fhir/R4/references.html#literal.
 *
 * @returns undefined when the type cannot be known.
 */
export function referenceStub(reference: unknown): ReferenceStub | undefined {
  if (!isJsonObject(reference)) return undefined;
  const text = reference.reference;
  const parsed = typeof text === 'string' ? parseReference(text) : undefined;
  if (parsed?.kind === 'local') return { resourceType: parsed.type, id: parsed.id };
  if (typeof reference.type === 'string') return { resourceType: reference.type };
  const match = parsed?.kind === 'foreign' ? RESTFUL_URL.exec(parsed.url) : null;
  return match === null ? undefined : { resourceType: match[1]! };
}
