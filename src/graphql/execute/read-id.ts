import { FhirError } from '../../fhir/error.js';
import { evaluateSingleText, type Variables } from '../plan/arguments.js';
import type { ReadEdge } from '../plan/plan.js';

/**
 * The id argument of a read, not validated.
 *
 * @throws FhirError `invalid` - none or several
 */
export function readId({ id }: ReadEdge, variables: Variables): string {
  const text = evaluateSingleText('id', id, variables);
  if (text === undefined) throw new FhirError('invalid', 'Argument "id" must be given');
  return text;
}
