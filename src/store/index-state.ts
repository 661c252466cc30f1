import { FhirError } from '../fhir/error.js';
import type { TypeParameter } from '../search/criteria/parameters-of.js';

/** The progress of re-indexing a collection. */
interface IndexProgress {
  /** Resources indexed, and their total, of the type in the project. */
  readonly done: number;
  readonly total: number;
}

/** The rejection of a search by a parameter that is being re-indexed. */
export function indexIncomplete({ type, parameter }: TypeParameter, progress: IndexProgress): FhirError {
  // Not the number of resources: callers may not see all of them.
  const percent = percentOf(progress);
  return new FhirError(
    'unavailable',
    `${type} cannot be searched by ${nameOf(parameter)} yet: its index is being rebuilt, ${percent} % is done; try again later`,
    { details: { type, parameter, percent } },
  );
}

/** The rejection of a search by a parameter that the database indexes with other definitions. */
export function indexForeign({ type, parameter }: TypeParameter): FhirError {
  return new FhirError(
    'unavailable',
    `${type} cannot be searched by ${nameOf(parameter)}: the index of the database is made with other definitions of it, or by another version of fhirgraph. ${OWNER}`,
    { details: { type, parameter, option: 'takeOver' } },
  );
}

function nameOf(parameter: string): string {
  return parameter.startsWith('#') ? `what ${parameter.slice(1)} resources inside say` : parameter;
}

/** The rejection of every write to a database that is indexed with other definitions. */
export function indexTakenOver(): FhirError {
  return new FhirError(
    'unavailable',
    `The index of the database is made with other definitions, or by another version of fhirgraph, so this store cannot write. ${OWNER}`,
    { details: { option: 'takeOver' } },
  );
}

export function isIndexTakenOver({ code, details }: FhirError): boolean {
  return code === 'unavailable' && details?.['option'] === 'takeOver' && details['parameter'] === undefined;
}

const OWNER = 'The service that owns the database opens it with takeOver: true';

/** The rejection of a search during which the index kept changing. */
export function indexChanging(): FhirError {
  return new FhirError('unavailable', 'The index keeps changing its state; try again');
}

/** Whole percent; 100 only when complete. */
function percentOf({ done, total }: IndexProgress): number {
  return total <= 0 ? 0 : Math.min(99, Math.floor((100 * done) / total));
}
