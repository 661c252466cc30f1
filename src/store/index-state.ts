import { FhirError } from '../fhir/error.js';
import type { TypeParameter } from '../search/criteria/parameters-of.js';

/** How far a collection is indexed again. */
export interface IndexProgress {
  /** Resources done, and how many there are, of the type in the project. */
  readonly done: number;
  readonly total: number;
}

/** What a search rejects with that uses a parameter whose index rows are being made again. */
export function indexIncomplete({ type, parameter }: TypeParameter, progress: IndexProgress): FhirError {
  // Not the number of resources: callers may not see all of them.
  const percent = percentOf(progress);
  return new FhirError(
    'unavailable',
    `${type} cannot be searched by ${nameOf(parameter)} yet: its index is being made again, ${percent} % is done; try again later`,
    { details: { type, parameter, percent } },
  );
}

/** What a search rejects with that uses a parameter whose index rows another process makes by other definitions. */
export function indexForeign({ type, parameter }: TypeParameter): FhirError {
  return new FhirError(
    'unavailable',
    `${type} cannot be searched by ${nameOf(parameter)}: another process with other definitions of it has taken over the database`,
    { details: { type, parameter } },
  );
}

function nameOf(parameter: string): string {
  return parameter.startsWith('#') ? `what ${parameter.slice(1)} resources inside say` : parameter;
}

/** What every write rejects with when another process indexes by other definitions. */
export function indexTakenOver(): FhirError {
  return new FhirError(
    'unavailable',
    'Another process with other definitions or another version of fhirgraph has taken over the database; this one can write again when both have the same',
  );
}

/** What a search rejects with that never saw the index in one state. */
export function indexChanging(): FhirError {
  return new FhirError('unavailable', 'The index keeps changing its state; try again');
}

/** Whole percent, 100 only when all is done. */
export function percentOf({ done, total }: IndexProgress): number {
  return total <= 0 ? 0 : Math.min(99, Math.floor((100 * done) / total));
}
