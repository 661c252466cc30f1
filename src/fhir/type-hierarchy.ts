import { typeDefinition } from './definitions.js';

/** Data types that specialise another one. See https://hl7.org/fhir/R4/datatypes.html. */
const PARENTS: ReadonlyMap<string, string> = new Map([
  ['code', 'string'],
  ['id', 'string'],
  ['markdown', 'string'],
  ['canonical', 'uri'],
  ['oid', 'uri'],
  ['url', 'uri'],
  ['uuid', 'uri'],
  ['positiveInt', 'integer'],
  ['unsignedInt', 'integer'],
  ['Age', 'Quantity'],
  ['Count', 'Quantity'],
  ['Distance', 'Quantity'],
  ['Duration', 'Quantity'],
]);

/** Resource types that are no DomainResource. */
const BARE_RESOURCES: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters']);

/** True when every `type` is an `ancestor` too: `isA('Age', 'Quantity')`, `isA('Patient', 'Resource')`, `isA('code', 'code')`. */
export function isA(type: string, ancestor: string): boolean {
  if (type === ancestor || PARENTS.get(type) === ancestor) return true;
  if (ancestor !== 'Resource' && ancestor !== 'DomainResource') return false;
  if (typeDefinition(type)?.kind !== 'resource') return false;
  return ancestor === 'Resource' || (type !== 'Resource' && !BARE_RESOURCES.has(type));
}
