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

/** Resource types that do not derive from DomainResource. */
const BARE_RESOURCES: ReadonlySet<string> = new Set(['Bundle', 'Binary', 'Parameters']);

/**
 * @param isResource whether the type is a resource type, concrete or abstract; called only if needed; may be omitted if
 * `ancestor` is a data type
 */
export function isKindOf(type: string, ancestor: string, isResource: () => boolean = () => false): boolean {
  if (type === ancestor || PARENTS.get(type) === ancestor) return true;
  if (ancestor !== 'Resource' && ancestor !== 'DomainResource') return false;
  return isResource() && (ancestor === 'Resource' || (type !== 'Resource' && !BARE_RESOURCES.has(type)));
}
