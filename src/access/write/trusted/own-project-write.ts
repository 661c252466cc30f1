import { FhirError } from '../../../fhir/error.js';
import { copyElement } from '../../../fhir/json/decimal-texts.js';
import { sameJson } from '../../../fhir/json/same-json.js';
import { elementsOf, type AnyResource } from '../../../fhir/resource.js';
import { OPERATORS_FIELDS } from '../../policy/default-rules.js';

/**
 * Decides the write of a Project by its own trusted code: it changes what the project's administrators may change, and
 * the project's own secrets; the settings that belong to the operator stay, and may be repeated or left out. The
 * operator's secrets must be left out: they are never readable, so a repeated value could only be a guess.
 *
 * @param stored undefined if there is no such Project yet: it may then be made, but not as a super-admin project
 * @returns a `forbidden` error if it changes anything else
 */
export function ownProjectWrite(stored: AnyResource | undefined, asked: AnyResource): AnyResource | FhirError {
  const wanted = elementsOf(asked);
  const secret = formsOf(OPERATORS_SECRET).find((name) => Object.hasOwn(wanted, name));
  if (secret !== undefined) return refusal(secret);
  if (stored === undefined) return wanted['superAdmin'] === undefined ? asked : refusal('superAdmin');
  const before = elementsOf(stored);
  const kept: { [name: string]: unknown } = { ...wanted };
  for (const name of [...OPERATORS_FIELDS, OPERATORS_SECRET].flatMap(formsOf)) {
    if (Object.hasOwn(wanted, name) && !sameJson(wanted[name], before[name])) return refusal(name);
    if (Object.hasOwn(before, name)) copyElement(kept, name, before);
  }
  return kept as unknown as AnyResource;
}

/** A secret of the operator, for system Bots only. */
const OPERATORS_SECRET = 'systemSecret';

function formsOf(field: string): readonly string[] {
  return [field, `_${field}`];
}

function refusal(field: string): FhirError {
  const message = `Project.${field} is out of reach of trusted code of one project; that takes trusted code above projects`;
  return new FhirError('forbidden', message, {
    issues: [{ code: 'forbidden', diagnostics: message, expression: [`Project.${field}`] }],
  });
}
