import type { Resource } from '@medplum/fhirtypes';
import type { JsonPatchOperation } from '../../../fhir/json-patch.js';
import type { Caller } from '../../../access/caller.js';
import type { AnyResource } from '../../../fhir/resource.js';
import type { ArgumentTexts, ArgumentValues, TypeOfText } from './text-types.js';

/** The context of a resolver call. */
export interface HostFieldContext {
  /** The caller of the request. Pass it to repositories and other calls in your resolver. */
  readonly caller: Caller;
  /** Fires when the request ends, and when the resolver's `timeout` has passed. */
  readonly signal: AbortSignal;
}

/** The options of every host field. */
export interface HostFieldOptions<Type extends string = string, Args = ArgumentTexts> {
  /**
   * The type as SDL writes it: `Float`, `[RiskBand!]!`, `HumanName`, `[Observation]`. A field of a resource type takes
   * references (`Observation/1`, a Reference, or a resource; only type and id count), which are read as the caller
   * sees them: missing and hidden resources are null, and left out of lists.
   */
  readonly type: Type;
  readonly description?: string | undefined;
  /** The reason why the field is deprecated. */
  readonly deprecated?: string | undefined;
  /** Arguments by name, as SDL writes their types: `{ horizon: 'Int! = 10' }`, or with a description. */
  readonly args?: Args | undefined;
  /** The cost of one parent, in resources read; it counts towards the limit `cost`. Default 0.1. */
  readonly cost?: number | undefined;
  /**
   * Time for one call of the resolver, in milliseconds. Default 10,000, and never more than nine tenths of the time that
   * the request has left, so that the rest of the answer arrives. A resolver that takes longer fails its field only.
   */
  readonly timeout?: number | undefined;
}

/**
 * A field on a FHIR type, or on an object type of the host.
 *
 * @typeParam Parent the parent as the resolver receives it
 */
export interface HostField<
  Parent = HostParent,
  Type extends string = string,
  Args = ArgumentTexts,
> extends HostFieldOptions<Type, Args> {
  /**
   * Elements of the parent that the resolver reads, selected or not: `['birthDate', 'name']`; `'*'` for all. A choice is
   * named by its base (`value`) or typed form. Default: none. Resources always have `resourceType` and `id`.
   */
  readonly needs?: readonly string[] | '*' | undefined;
  /**
   * Computes the field for all parents of a level at once.
   *
   * Parents are frozen and as the caller sees them: without elements that access rules hide. Each occurs once.
   *
   * @returns one value per parent, in their order; an `Error` fails the field of that parent
   * @throws FhirError is shown to the client; any other error is `internal` to it and goes to `onError`
   */
  resolve(
    parents: readonly Parent[],
    args: ArgumentValues<Args>,
    context: HostFieldContext,
  ): readonly HostValue<Type>[] | Promise<readonly HostValue<Type>[]>;
}

/**
 * A field of `Query`; or a field of `Mutation` that acts outside of the store, and must be the only field of its
 * document.
 */
export interface HostRootField<Type extends string = string, Args = ArgumentTexts> extends HostFieldOptions<
  Type,
  Args
> {
  /** @throws FhirError is shown to the client; any other error is `internal` to it and goes to `onError` */
  resolve(args: ArgumentValues<Args>, context: HostFieldContext): HostValue<Type> | Promise<HostValue<Type>>;
}

/** A field of `Mutation` whose writes join the one commit of the document. */
export interface HostWriteField<Type extends string = string, Args = ArgumentTexts> extends HostFieldOptions<
  Type,
  Args
> {
  /**
   * The writes of the field. They are carried out for the caller like those of the other fields of the mutation, in
   * their order, and all or none; access rules decide on each.
   */
  writes(args: ArgumentValues<Args>, context: HostWriteContext): readonly HostWrite[] | Promise<readonly HostWrite[]>;
  /**
   * The value of the field from the outcomes of its writes, as the caller sees them.
   *
   * Default: the first resource that was written, all of them for a list, `true` for `Boolean`.
   */
  result?(outcomes: readonly HostWriteOutcome[], args: ArgumentValues<Args>): HostValue<Type>;
}

/** The context of a `Mutation` field with writes. */
export interface HostWriteContext extends HostFieldContext {
  /** Returns a new id for a resource to create, so that other writes can refer to it. */
  newId(): string;
}

/** A write of a mutation, one of FHIR's interactions. See https://hl7.org/fhir/R4/http.html. */
export type HostWrite =
  /** The resource gets a new id; its own counts if it is one of `newId()`. */
  | { readonly interaction: 'create'; readonly resource: WritableResource; readonly ifNoneExist?: string | undefined }
  | { readonly interaction: 'update'; readonly resource: WritableResource; readonly ifMatch?: string | undefined }
  /** `operations` are a JSON Patch. */
  | {
      readonly interaction: 'patch';
      readonly type: string;
      readonly id: string;
      readonly operations: readonly JsonPatchOperation[];
      readonly ifMatch?: string | undefined;
    }
  | {
      readonly interaction: 'delete';
      readonly type: string;
      readonly id: string;
      readonly ifMatch?: string | undefined;
    };

/** A resource to write, typed or as plain JSON. */
export type WritableResource = AnyResource | { readonly resourceType: string; readonly [element: string]: unknown };

/** The outcome of a write, as the caller sees it. */
export type HostWriteOutcome =
  | {
      /** `matched`: a conditional create found the resource and wrote nothing. */
      readonly status: 'created' | 'updated' | 'matched';
      readonly resource: AnyResource;
      /** Set if the caller may not read the written resource: `resource` then only repeats the request. */
      readonly unreadable?: true | undefined;
    }
  | { readonly status: 'deleted'; readonly type: string; readonly id: string };

/** A value of a field, or the error of one parent. */
export type HostValue<Type extends string = string> = TypeOfText<Type> | Error;

/** A parent of unknown type: the elements that `needs` names. */
export interface HostParent {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the elements of any FHIR type
  readonly [element: string]: any;
}

/** A parent of a FHIR resource type, with only `id`, `resourceType` and the elements of `needs`. */
export type HostParentOf<Name> = Name extends keyof ResourcesByType
  ? Readonly<ResourcesByType[Name]> & { readonly id: string }
  : HostParent;

/** The elements that `needs` may name on a type. */
export type ElementOf<Name> = Name extends keyof ResourcesByType ? keyof ResourcesByType[Name] & string : string;

/** The resource types of FHIR by name. */
export type ResourcesByType = { readonly [One in Resource as One['resourceType']]: One };

/** The fields of a host by type: FHIR types, `Resource` for every resource type, `Query`, `Mutation`, own object types. */
export type HostFields = {
  readonly Query?: { readonly [name: string]: HostRootField } | undefined;
  readonly Mutation?: { readonly [name: string]: HostRootField | HostWriteField } | undefined;
} & {
  readonly [Name in keyof ResourcesByType]?: { readonly [name: string]: HostField<HostParentOf<Name>> } | undefined;
} & { readonly [type: string]: { readonly [name: string]: UntypedHostField } | undefined };

/** A field on a data type or an object type of the host; also the common type of all kinds of host fields. */
export interface UntypedHostField extends HostFieldOptions {
  readonly needs?: readonly string[] | '*' | undefined;
  resolve?(parents: readonly HostParent[], args: ArgumentValues<ArgumentTexts>, context: HostFieldContext): unknown;
  writes?(args: ArgumentValues<ArgumentTexts>, context: HostWriteContext): unknown;
  result?(outcomes: readonly HostWriteOutcome[], args: ArgumentValues<ArgumentTexts>): unknown;
}
