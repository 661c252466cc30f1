import type { FieldNode } from '../graphql-js.js';
import type { CodeNames } from '../schema/code-names.js';
import type { Location } from './location.js';
import type { Shaping } from './shaping.js';

/** What all fields of a plan have. */
export interface Keyed {
  /** Key in the object being filled: the response key, numbered if a key occurs twice and is not merged. */
  readonly key: string;
  readonly location: Location | undefined;
  /** How directives reshape the field; undefined without such directives. */
  readonly shaping: Shaping | undefined;
}

export interface TypenameField extends Keyed {
  readonly kind: 'typename';
  readonly value: string;
}

/** `__schema` or `__type` at the root, answered from the schema without the store. */
export interface IntrospectionField extends Keyed {
  readonly kind: 'introspection';
  readonly name: '__schema' | '__type';
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  /** The other inputs of the selection: the fragments of the document and the names of its variables. */
  readonly fragments: readonly string[];
  readonly variables: readonly string[];
}

export interface ResourceTypeField extends Keyed {
  readonly kind: 'resource-type';
}

/** `cache_key`, the identity of a resource in client caches. */
export interface CacheKeyField extends Keyed {
  readonly kind: 'cache-key';
}

/** A field on `resource` that applies to another possible type; null for this type. */
export interface AbsentField extends Keyed {
  readonly kind: 'absent';
}

export interface PrimitiveField extends Keyed {
  readonly kind: 'primitive';
  readonly name: string;
  /** FHIR type of the value. */
  readonly type: string;
  readonly array: boolean;
  /** The names of the codes of an element with an enum; absent for other values. */
  readonly codes?: CodeNames;
}
