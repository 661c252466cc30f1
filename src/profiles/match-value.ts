import { sameJson } from '../fhir/json/same-json.js';
import { isJsonObject } from '../fhir/resource.js';
import { objectsOf, type CodeSet } from './value-set-codes.js';

/** True if a value has everything in a pattern. See https://hl7.org/fhir/R4/elementdefinition-definitions.html#ElementDefinition.pattern_x_. */
export function matchesPattern(value: unknown, pattern: unknown): boolean {
  if (Array.isArray(pattern)) {
    return Array.isArray(value) && pattern.every((one) => value.some((item) => matchesPattern(item, one)));
  }
  if (!isJsonObject(pattern)) return sameJson(value, pattern);
  return isJsonObject(value) && Object.keys(pattern).every((name) => matchesPattern(value[name], pattern[name]));
}

/** True if a code, Coding, CodeableConcept or Quantity has a code of the set. */
export function hasCodeOf(codes: CodeSet, value: unknown): boolean {
  if (typeof value === 'string') return codes.has(value, undefined);
  if (!isJsonObject(value)) return false;
  const { code, system } = value;
  if (typeof code === 'string') return codes.has(code, typeof system === 'string' ? system : '');
  return objectsOf(value['coding']).some((coding) => hasCodeOf(codes, coding));
}
