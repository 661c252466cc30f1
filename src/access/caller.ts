import { FhirError } from '../fhir/error.js';
import { idOf } from '../fhir/reference.js';

/**
 * On whose behalf something is done: made by this library only, so that no host code can forge one by accident.
 *
 * A caller names the one project it works in and the author its writes are attributed to.
 */
export abstract class Caller {
  /** The project whose resources this caller reaches. */
  abstract readonly project: string;
  /** `system`: trusted in-process code, bound by nothing but its project. */
  abstract readonly kind: 'system';
}

class SystemCaller extends Caller {
  readonly kind = 'system';

  constructor(readonly project: string) {
    super();
    Object.freeze(this);
  }
}

/**
 * The caller for trusted in-process code: migrations, imports, tests. It may do anything inside the project given.
 *
 * @param project the id of the project, its `Project/id`, or a Reference to it
 * @throws FhirError `invalid` - the project is not named by an id
 *
 * @example
 * await executeFhirGraphql('{ PatientList { id } }', { store, caller: systemCaller('clinic') });
 */
export function systemCaller(project: string | { readonly reference?: string | undefined }): Caller {
  const id = idOf(project, 'Project');
  if (id === undefined) throw new FhirError('invalid', 'systemCaller needs the id of a project');
  return new SystemCaller(id);
}

/**
 * Refuses everything that is not a caller: no caller, no access.
 *
 * @throws FhirError `unauthenticated`
 */
export function assertCaller(caller: unknown): asserts caller is Caller {
  if (caller instanceof Caller) return;
  throw new FhirError(
    'unauthenticated',
    caller === undefined
      ? 'No caller given; pass the result of signIn, or systemCaller(project) for trusted code'
      : 'Not a caller; pass the result of signIn, or systemCaller(project) for trusted code',
  );
}
