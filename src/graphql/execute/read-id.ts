import { FhirError } from '../../fhir/error.js';
import { evaluateSingleText, type Variables } from '../plan/arguments.js';
import type { ReadEdge } from '../plan/plan.js';

/**
 * The id that a read asks for, which need not look like one.
 *
 * @throws FhirError `invalid` - there is none, or more than one
 */
export function readId({ id }: ReadEdge, variables: Variables): string {
  const text = evaluateSingleText('id', id, variables);
  if (text === undefined) throw new FhirError('invalid', 'Argument "id" must be given');
  return text;
}
