import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { referenceTo } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import type { MemberCaller } from '../caller.js';
import { readsAll } from '../decide.js';

const LINK = ['patient', 'active', 'period'] as const;

/**
 * The elements of a RelatedPerson that {@link assertPatientLink} keeps as they are. A writer that may not read it omits
 * them: comparing them with stored values would confirm guesses.
 */
export function fixedLink(caller: MemberCaller, { resourceType, id }: AnyResource): readonly string[] {
  if (resourceType !== 'RelatedPerson') return [];
  if (isOwn(caller, id)) return LINK;
  return linksAnyone(caller) ? [] : ['patient'];
}

/**
 * Rejects writes that would choose the compartment a RelatedPerson sees.
 *
 * - Nobody changes the link of its own profile: `patient`, `active` and `period` stay as they are.
 * - `RelatedPerson.patient` of others changes only by callers who read every Patient, and by project administrators:
 * others could grant a RelatedPerson more than they see themselves. The same applies to restoring a deleted one.
 *
 * The result depends only on the caller's rules and on the elements that the caller sees, so it reveals nothing: {@link
 * fixedLink} keeps callers from sending fixed elements that they cannot see.
 *
 * @param before null if there is no current version
 * @param deleted true if there was one before
 * @throws FhirError `forbidden`
 */
export function assertPatientLink(
  caller: MemberCaller,
  before: AnyResource | null,
  after: AnyResource,
  deleted: boolean,
): void {
  if (after.resourceType !== 'RelatedPerson') return;
  const own = isOwn(caller, after.id);
  if (!own && linksAnyone(caller)) return;
  const changed =
    before === null
      ? own || deleted
        ? 'patient'
        : undefined
      : fixedLink(caller, after).find((name) => differ(before, after, name));
  if (changed === undefined) return;
  const reason = own
    ? 'it decides what you may see yourself'
    : 'only callers who read every Patient, and project administrators, may';
  throw new FhirError('forbidden', `Not allowed to change RelatedPerson.${changed}: ${reason}`, {
    issues: [
      {
        code: 'forbidden',
        diagnostics: `This element cannot be changed: ${reason}`,
        expression: [`RelatedPerson.${changed}`],
      },
    ],
  });
}

function differ(before: AnyResource, after: AnyResource, name: string): boolean {
  const [was, is] = [elementsOf(before), elementsOf(after)];
  return [name, `_${name}`].some((key) => !sameJson(was[key], is[key]));
}

function isOwn({ profile }: MemberCaller, id: string | undefined): boolean {
  return id !== undefined && referenceTo('RelatedPerson', id) === profile;
}

function linksAnyone(caller: MemberCaller): boolean {
  return caller.admin || readsAll(caller, 'Patient');
}
