/**
 * An entry of the index of a resource: one per value of a search parameter.
 *
 * ```text
 * Observation { code: { coding: [{ system: 'http://loinc.org', code: '8302-2', display: 'Height' }] }, … }
 *   { parameter: 'code', group: 0, value: { kind: 'token', system: 'http://loinc.org', code: '8302-2', texts: ['Height'] } }
 *   { parameter: 'code-value-quantity$0', group: 1, value: { kind: 'token', … } }     component 0 of the composite
 *   { parameter: 'code-value-quantity$1', group: 1, value: { kind: 'quantity', … } }  component 1, same group
 *   { parameter: 'subject', group: 0, value: { kind: 'reference', type: 'Patient', id: '1' } }
 *   { parameter: 'subject:identifier', group: 0, value: { kind: 'token', … } }        of a Reference.identifier
 *   { parameter: 'identifier:of-type', group: 0, value: { kind: 'token', system: …, code: 'MR|12345' } }
 *                                                         of an Identifier with a type: the type's system and code
 *   { parameter: 'name:words', group: 0, value: { kind: 'string', text: 'bern', folded: 'bern' } }
 *                                                         a word of a parameter that is indexed by word
 *   { parameter: 'name:words', group: 0, value: { kind: 'string', text: 'smith ann ', folded: 'smith ann ' } }
 *                                                         the words of one name, beginning with each (`nameWords`)
 *   { parameter: 'subject:present', group: 0, value: { kind: 'token' } }   of a reference that has no other entry
 * ```
 *
 * Contained resources that references lead to (also the first entry of a document) have entries too:
 *
 * ```text
 * Observation { contained: [{ resourceType: 'Patient', id: 'p', name: … }], subject: { reference: '#p' } }
 *   { parameter: 'subject#Patient', group: 0, value: { kind: 'number', low: 1, high: 1 } }   leads to number 1 inside
 *   { parameter: '#Patient.family', group: 1, value: { kind: 'string', … } }                 a value of number 1
 *   { parameter: '#Patient.organization#Organization', group: 1, value: … 2 }                number 1 leads to number 2
 *   { parameter: '#Observation.code-value-quantity$0', group: 65536 + 1, value: … }          number 1, its composite group 1
 * ```
 */
export interface IndexEntry {
  /**
   * The parameter's code; with `$n` for component n of a composite, with `:identifier` for a reference's identifier,
   * with `:of-type` for an identifier together with its type, with `:words` for the words of a string or name, with
   * `:present` for a reference without another entry.
   */
  readonly parameter: string;
  /**
   * 0, except for components of a composite: values that belong together share a number, from 1. For a contained
   * resource: 65536 times the group plus the number of the resource.
   */
  readonly group: number;
  readonly value: IndexValue;
}

/** A value that a search parameter extracts from a resource. */
export type IndexValue =
  | TokenValue
  | StringValue
  | DateValue
  | NumberValue
  | QuantityValue
  | LocalReferenceValue
  | UrlReferenceValue
  | UriValue;

/** A code with its system and display. */
export interface TokenValue {
  readonly kind: 'token';
  readonly system?: string;
  readonly code?: string;
  /** Displays and texts of the value, as written, which `:text` searches. Stores need not index them. */
  readonly texts?: readonly string[];
}

/** A string value, as written and folded. */
export interface StringValue {
  readonly kind: 'string';
  /** As written. */
  readonly text: string;
  /** See fold.ts. */
  readonly folded: string;
}

/** Milliseconds since 1970, half-open. */
export interface DateValue {
  readonly kind: 'date';
  readonly low: number;
  readonly high: number;
}

/** A point (`low = high`) or, for a Range, a closed interval; an open end is ±1e300. */
export interface NumberValue {
  readonly kind: 'number';
  readonly low: number;
  readonly high: number;
}

/** As {@link NumberValue}, with its unit: the coded one and the human one. */
export interface QuantityValue {
  readonly kind: 'quantity';
  readonly low: number;
  readonly high: number;
  readonly system?: string;
  readonly code?: string;
  readonly unit?: string;
}

/** `Type/id`, also when the reference is versioned. */
export interface LocalReferenceValue {
  readonly kind: 'reference';
  readonly type: string;
  readonly id: string;
}

/** Any absolute reference (foreign, urn:), without the version of `…/Type/id/_history/1`; canonicals as written. */
export interface UrlReferenceValue {
  readonly kind: 'reference';
  readonly url: string;
}

/** A URI value. */
export interface UriValue {
  readonly kind: 'uri';
  readonly value: string;
}
