import { FhirError } from '../../fhir/error.js';
import { nameToId } from '../../fhir/reference.js';

/** The id in a name from a host, which may pass on client input. @throws FhirError `invalid` - it has another form */
export function requireName(name: unknown, type: string): string {
  const id = nameToId(name, type);
  if (id !== undefined) return id;
  throw new FhirError('invalid', `The ${type} must be named by its id, ${type}/id or a Reference`);
}
