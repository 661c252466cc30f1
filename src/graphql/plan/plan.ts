import type { CursorPart } from '../../interactions/pages.js';
import type { SelectionSetNode, FieldNode } from '../graphql-js.js';
import type { WriteInteraction } from '../schema/fields.js';
import type { HostFieldDefinition } from '../schema/host/host-schema.js';
import type { ItemControl, ListControl } from '../schema/arguments.js';
import type { Argument } from './arguments.js';
import type { CodeNames } from '../schema/code-names.js';
import type { Shaping } from './shaping.js';
import type { ElementDefinition } from '../../fhir/model/definition-types.js';

/**
 * A GraphQL operation compiled against the definitions: which elements to copy and which store calls to make.
 *
 * It is plain frozen data, apart from the functions of the host's fields: it can be printed as JSON, and two plans of
 * one operation are equal. Arguments stay symbolic, so one plan serves all values of variables, except those of `@skip`
 * and `@include`: there is one plan per combination of their truth values.
 *
 * ```text
 * { Patient(id: "1") { name { family } ObservationList(_reference: subject) { code { text } } } }
 *   root ─ read Patient ─┬─ object name ── primitive family
 *                        └─ search Observation (reverse subject) ── object code ── primitive text
 * ```
 */
export interface OperationPlan {
  readonly root: Selection;
  /** Whether directives or the dialect reshape the response. */
  readonly shaped: boolean;
  /** Deepest nesting of selections. */
  readonly depth: number;
  /** Number of selections that planning opened. */
  readonly size: number;
}

/** The fields to produce for objects of one concrete type, in response order. */
export interface Selection {
  readonly type: string;
  readonly fields: readonly PlannedField[];
}

/**
 * The selection on a resource of unknown type: under `resource`, in `contained`, in Bundles.
 *
 * Types named by fragments are planned with the operation. Other types are planned when their first resource is found
 * (see `TypedSelections`), from the selection sets stored here.
 */
export interface AnyTypeSelection {
  /** Response keys from the root, with the types: `subject.resource(Patient).link.other.resource`. */
  readonly path: string;
  readonly depth: number;
  /** By the types named in fragments. */
  readonly named: { readonly [type: string]: Selection };
  readonly sets: readonly SelectionSetNode[];
}

export type PlannedField =
  | TypenameField
  | IntrospectionField
  | ResourceTypeField
  | CacheKeyField
  | AbsentField
  | PrimitiveField
  | ObjectField
  | ChoiceField
  | ExtensionField
  | InlineResourceField
  | WriteField
  | HostWriteField
  | HostPropertyField
  | HostEdge
  | ReadEdge
  | SearchEdge
  | ReferenceEdge
  | ChangesField;

/** A store call for all its holes: the edges of a plan are the store calls of a request. */
export type StoreEdge = ReadEdge | SearchEdge | ReferenceEdge | HostReferenceEdge;

/** A call for all its holes, of the store or of a resolver of the host. */
export type Edge = StoreEdge | HostEdge;

/** A complex element, or (`sibling`) the `id` and `extension` of a primitive. */
export interface ObjectField extends Keyed {
  readonly kind: 'object';
  readonly name: string;
  readonly array: boolean;
  readonly selection: Selection;
  readonly filter: ElementFilter | undefined;
  /** The sibling of a canonical, which a `resource` field inside follows. */
  readonly canonical: boolean;
}

/** A choice by its base name (`value`), in dialect `hl7`: the typed form that is present. */
export interface ChoiceField extends Keyed {
  readonly kind: 'choice';
  readonly forms: readonly (PrimitiveField | ObjectField)[];
}

/** An extension by the name of its field. */
export interface ExtensionField extends Keyed {
  readonly kind: 'extension';
  readonly url: string;
  readonly array: boolean;
  /** The element of the extension that has the value; undefined: the extension itself is the value. */
  readonly value: string | undefined;
  /** Projects the values, which it finds under the name `value`. */
  readonly field: PrimitiveField | ObjectField;
}

/** A resource inside a resource: `contained`, `Bundle.entry.resource`. */
export interface InlineResourceField extends Keyed {
  readonly kind: 'inline-resource';
  readonly name: string;
  readonly array: boolean;
  readonly selections: AnyTypeSelection;
  readonly filter: ElementFilter | undefined;
}

/** A mutation field such as `PatientCreate(res:)`. */
export interface WriteField extends Keyed {
  readonly kind: 'write';
  readonly interaction: WriteInteraction;
  readonly type: string;
  readonly args: { readonly [name: string]: Argument };
  readonly selection: Selection;
}

/** `Patient(id:)`. */
export interface ReadEdge extends Keyed {
  readonly kind: 'read';
  readonly type: string;
  readonly id: Argument;
  readonly selection: Selection;
}

/** `XList(...)` and `XConnection(...)`, at the root or (with `reverse`) inside a resource. */
export interface SearchEdge extends Keyed {
  readonly kind: 'search';
  readonly type: string;
  /** `_reference`; undefined at the root. */
  readonly reverse: Argument | undefined;
  readonly parameters: readonly { readonly code: string; readonly values: Argument }[];
  /** `_filter`, `_sort`, `_count` and others. */
  readonly controls: { readonly [Name in ListControl]?: Argument };
  /** `cursor` and `_cursor`, which replace all other arguments. */
  readonly cursors: readonly Argument[];
  readonly shape: ListShape | ConnectionShape;
}

/** `XChanges(...)`, the field of a subscription. */
export interface ChangesField extends Keyed {
  readonly kind: 'changes';
  readonly type: string;
  /** The search that it follows, with the selection on the resource. */
  readonly search: SearchEdge & { readonly shape: ListShape };
  readonly fields: readonly ChangeField[];
}

export type ChangeField = { readonly key: string; readonly location: Location | undefined } & (
  | { readonly part: 'typename'; readonly value: string }
  | { readonly part: 'event' | 'id' }
  | { readonly part: 'resource'; readonly selection: Selection }
);

interface ListShape {
  readonly kind: 'list';
  readonly selection: Selection;
}

/** See https://hl7.org/fhir/R4/graphql.html#paging. */
export interface ConnectionShape {
  readonly kind: 'connection';
  readonly fields: readonly ConnectionField[];
  /** Whether the number of all matches is selected. */
  readonly total: boolean;
  /** Whether any match is needed, including for a cursor. */
  readonly matches: boolean;
  /** Whether a cursor is selected. */
  readonly cursors: boolean;
}

export type ConnectionField =
  | { readonly key: string; readonly part: 'typename'; readonly value: string }
  | { readonly key: string; readonly part: 'count' | 'offset' | 'pagesize' | CursorPart }
  | { readonly key: string; readonly part: 'edges'; readonly fields: readonly ConnectionEdgeField[] };

export type ConnectionEdgeField =
  | { readonly key: string; readonly part: 'typename'; readonly value: string }
  | { readonly key: string; readonly part: 'mode' | 'score' }
  | { readonly key: string; readonly part: 'resource'; readonly selection: Selection };

/** `resource` under a reference or a canonical. */
export interface ReferenceEdge extends Keyed {
  readonly kind: 'reference';
  /** Under a canonical, which is followed by URL. */
  readonly canonical: boolean;
  /** Possible target types; undefined: any. */
  readonly targets: readonly string[] | undefined;
  /** `type:`; references to other types are null. */
  readonly type: Argument | undefined;
  /** `optional:`; unresolvable references are not an error. */
  readonly optional: Argument | undefined;
  readonly selections: AnyTypeSelection;
}

interface HostKeyed extends Keyed {
  readonly field: HostFieldDefinition;
  /** Whether its values are lists. */
  readonly array: boolean;
  readonly value: HostValuePlan;
}

/** A field of the host: one call of its resolver for all parents. */
export interface HostEdge extends HostKeyed {
  readonly kind: 'host';
  readonly args: { readonly [name: string]: Argument };
}

/** A field of `Mutation` with writes from the host. */
export interface HostWriteField extends HostKeyed {
  readonly kind: 'host-write';
  readonly args: { readonly [name: string]: Argument };
}

/** A property of an object that a resolver returned. */
export interface HostPropertyField extends HostKeyed {
  readonly kind: 'host-property';
}

/** How to complete a value of the host, inside its lists. */
export type HostValuePlan =
  /** `codes` are the values of an enum. */
  | { readonly kind: 'leaf'; readonly type: string; readonly codes: readonly string[] | undefined }
  /** An object of the host's own type, or of a FHIR data type. */
  | { readonly kind: 'object'; readonly selection: Selection }
  | { readonly kind: 'resource'; readonly edge: HostReferenceEdge };

/** The resources that values of the host refer to. */
export interface HostReferenceEdge extends Keyed {
  readonly kind: 'host-reference';
  /** The type that they must have; undefined: any. */
  readonly type: string | undefined;
  /** The selection on this type. */
  readonly selection: Selection | undefined;
  /** The selections on any type, if `type` is undefined. */
  readonly selections: AnyTypeSelection | undefined;
}

/** 1-based position in the document. */
export interface Location {
  readonly line: number;
  readonly column: number;
}

/** Where a field begins; undefined for documents that were parsed without locations. */
export function locationOf(node: FieldNode): Location | undefined {
  const token = node.loc?.startToken;
  return token === undefined ? undefined : { line: token.line, column: token.column };
}

/** What all fields of a plan have. */
interface Keyed {
  /** Key in the object being filled: the response key, numbered if a key occurs twice and is not merged. */
  readonly key: string;
  readonly location: Location | undefined;
  /** How directives reshape the field; undefined without such directives. */
  readonly shaping: Shaping | undefined;
}

interface TypenameField extends Keyed {
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

interface ResourceTypeField extends Keyed {
  readonly kind: 'resource-type';
}

/** `cache_key`, the identity of a resource in client caches. */
interface CacheKeyField extends Keyed {
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

/** The arguments of a repeating element. See https://hl7.org/fhir/R4/graphql.html#filtering. */
export interface ElementFilter {
  readonly element: ElementDefinition;
  readonly equals: readonly ElementEquality[];
  /** `fhirpath`, `_offset`, `_count`. */
  readonly controls: { readonly [Name in ItemControl]?: Argument };
}

export interface ElementEquality {
  readonly name: string;
  readonly value: Argument;
  /** The codes of an element with an enum; absent for other values. */
  readonly codes?: CodeNames;
}
