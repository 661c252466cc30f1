import type { ElementDefinition } from '../model/definition-types.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import type { ObjectRule } from './rule.js';

/** Keyed by the array of codes, which belongs to one model. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** The codes of a required binding, if they can be enumerated. */
export function codesOf({ codes }: ElementDefinition): ReadonlySet<string> | undefined {
  if (codes === undefined) return undefined;
  let set = sets.get(codes);
  if (set === undefined) sets.set(codes, (set = new Set(codes)));
  return set;
}

/** Describes the codes of a binding for a message; lists them if there are few. */
export function expectedCodes(codes: ReadonlySet<string>): string {
  return codes.size <= 12
    ? `one of ${[...codes].join(', ')}`
    : `one of the ${codes.size} codes of its required binding`;
}

/**
 * A Coding, or one of the codings of a CodeableConcept, must be of the value set; text alone is not enough.
 * See https://hl7.org/fhir/R4/terminologies.html#required.
 */
export function bindingRule(element: ElementDefinition): ObjectRule | undefined {
  const codes = codesOf(element);
  if (codes === undefined) return undefined;
  const { codeSystem: system } = element;
  const isMember = (coding: JsonObject): boolean =>
    typeof coding.code === 'string' && codes.has(coding.code) && (system === undefined || coding.system === system);
  const expectation = `${expectedCodes(codes)}${system === undefined ? '' : `, with the system ${system}`}`;
  return (value, walk) => {
    const codings = element.type === 'Coding' ? [value] : value.coding;
    if (Array.isArray(codings) && codings.some((coding) => isJsonObject(coding) && isMember(coding))) return;
    walk.findings.error('code-invalid', `${element.name} must hold ${expectation}`);
  };
}
