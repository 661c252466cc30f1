import { FhirError } from '../../fhir/error.js';

/**
 * What a store may do to a database that holds one already: `owner` migrates it and takes over its index, `user` writes
 * to it as it is, `reader` writes nothing.
 */
export type Opening = 'owner' | 'user' | 'reader';

/** @throws FhirError `invalid` - an option is not a boolean, or both are true */
export function openingOf({
  takeOver = false,
  readonly = false,
}: {
  readonly takeOver?: boolean | undefined;
  readonly readonly?: boolean | undefined;
}): Opening {
  for (const [name, value] of Object.entries({ takeOver, readonly })) {
    if (typeof value !== 'boolean') throw new FhirError('invalid', `${name} must be true or false`);
  }
  if (takeOver && readonly) throw new FhirError('invalid', 'A store with readonly: true cannot have takeOver: true');
  return takeOver ? 'owner' : readonly ? 'reader' : 'user';
}

/** The refusal of a database that an older version wrote. @param found what it was written with */
export function outdated(found: string): FhirError {
  return new FhirError(
    'unavailable',
    `The database has ${found}, written by an older fhirgraph. The service that owns it migrates it with the option takeOver: true; back it up before`,
    { details: { option: 'takeOver' } },
  );
}

/** The refusal of a database with tables of a later schema version than the `known` one. */
export function newerSchema(version: number, known: number): FhirError {
  return new FhirError(
    'unavailable',
    `The database has schema version ${version}, written by a newer fhirgraph; this one knows up to ${known}`,
  );
}

/** The refusal of a write by a store with `readonly: true`. */
export function readonlyStore(): FhirError {
  return new FhirError('unavailable', 'The store was opened with readonly: true and cannot write');
}

/** The refusal of a database without tables by a store with `readonly: true`. */
export function emptyDatabase(): FhirError {
  return new FhirError('unavailable', 'The database holds no store yet, and a store with readonly: true creates none');
}

/** Warns the host at once that the store cannot write, since its first write may come late. */
export function warnOfOtherDefinitions(): void {
  process.emitWarning(OTHER_DEFINITIONS, { code: 'FHIRGRAPH_INDEX' });
}

const OTHER_DEFINITIONS =
  'The database was written with other definitions or another baseUrl than this store has, which can read, but not write. The service that owns the database opens it with takeOver: true, a tool with readonly: true';
