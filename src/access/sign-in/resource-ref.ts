import { FhirError } from '../../fhir/error.js';
import { nameToId } from '../../fhir/reference.js';

/** An id, a `Type/id`, or a Reference. */
export type ResourceRef = string | { readonly reference?: string | undefined };

/** The id in a name given to sign-in. @throws FhirError `unauthenticated` - missing; `invalid` - malformed */
export function requireId(name: ResourceRef, type: string): string {
  const id = nameToId(name, type);
  if (id !== undefined) return id;
  throw unnamed(name, type, `${type}/id`);
}

/** A token without the claim does not identify anybody. */
export function unnamed(name: unknown, type: string, form: string): FhirError {
  return new FhirError(codeFor(name), `Sign-in needs the id of a ${type}, as id, ${form} or Reference`);
}

/** The text of an external id given to sign-in. @throws FhirError `unauthenticated` - missing; `invalid` - no text */
export function requireExternalId(externalId: unknown): string {
  if (typeof externalId === 'string' && externalId !== '') return externalId;
  throw new FhirError(codeFor(externalId), 'Sign-in needs the externalId as a string');
}

function codeFor(name: unknown): 'unauthenticated' | 'invalid' {
  return name === undefined || name === null || name === '' ? 'unauthenticated' : 'invalid';
}
