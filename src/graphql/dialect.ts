import { FhirError } from '../fhir/error.js';

/**
 * The interpretation of FHIR GraphQL for answers. Both accept the same liberal input.
 *
 * | question | `standard` | `hl7` |
 * |---|---|---|
 * | absent element; absent list, also with filter arguments | `null` | omitted |
 * | filter that keeps nothing of an existing list | `[]` | omitted |
 * | empty search list | `[]` | omitted |
 * | same response key twice | merged, or an error, as GraphQL says | collated into a list |
 * | unresolvable `resource` | `null` and an error | the request fails, unless `optional: true` |
 * | resource not visible, or not found by id | `null` and an error | the request fails |
 * | choice element by its base name (`value`) | no | yes |
 * | field directly on `resource` that differs between the possible types | refused | from the types that it fits |
 * | `pagesize` without `_count` | `null` | the maximum size of a page |
 *
 * GraphQL tools expect `standard`; HL7's test cases follow `hl7`.
 */
export type Dialect = 'standard' | 'hl7';

/** The default dialect. */
export const DEFAULT_DIALECT: Dialect = 'standard';

/** @throws FhirError `invalid` */
export function parseDialect(dialect: unknown): Dialect {
  if (dialect === undefined) return DEFAULT_DIALECT;
  if (dialect === 'standard' || dialect === 'hl7') return dialect;
  throw new FhirError('invalid', 'The dialect must be "standard" or "hl7"');
}
