import type { TypeReference } from './type-reference.js';

/** The fields and types that a host adds to the schema, checked and ready for planning. */
export interface HostSchema {
  /** By the name of the FHIR type, `Query`, `Mutation`, `Resource` or the host's own object type. */
  readonly fields: ReadonlyMap<string, readonly HostFieldDefinition[]>;
  /** The host's own types by name. */
  readonly types: ReadonlyMap<string, HostTypeDefinition>;
}

export type HostTypeDefinition =
  | { readonly kind: 'object'; readonly name: string; readonly description: string | undefined }
  | {
      readonly kind: 'enum';
      readonly name: string;
      readonly description: string | undefined;
      readonly values: readonly HostEnumValue[];
    }
  | {
      readonly kind: 'input';
      readonly name: string;
      readonly description: string | undefined;
      readonly fields: readonly HostInputField[];
    }
  | {
      readonly kind: 'scalar';
      readonly name: string;
      readonly description: string | undefined;
      readonly specifiedByURL: string | undefined;
    };

/** The kind of type that a field is declared on: a root, a FHIR resource or element, an object type of the host. */
export type ParentKind = 'query' | 'mutation' | 'resource' | 'element' | 'own';

interface HostEnumValue {
  readonly name: string;
  readonly description: string | undefined;
  readonly deprecationReason: string | undefined;
}

/** A field of an input type, or an argument. */
export interface HostInputField {
  readonly name: string;
  readonly description: string | undefined;
  readonly deprecationReason: string | undefined;
  readonly type: TypeReference;
  /** The default as JSON; undefined without one. */
  readonly defaultValue: unknown;
}

/**
 * A field of the host.
 *
 * | source | value |
 * |---|---|
 * | property | the property of the object around it, which a resolver returned |
 * | batch | one call of the resolver for all parents of a level |
 * | root | one call of the resolver: `Query`, or the only field of a mutation |
 * | writes | the resources that the field's writes stored, in the commit of the mutation |
 */
export interface HostFieldDefinition {
  /** The type that the host declared it on. */
  readonly parent: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly deprecationReason: string | undefined;
  readonly type: TypeReference;
  readonly args: readonly HostInputField[];
  readonly source: 'property' | 'batch' | 'root' | 'writes';
  /** Elements of the parent for the resolver; `*` for all. */
  readonly needs: readonly string[] | '*';
  /** Per parent, in resources. */
  readonly cost: number;
  /** In milliseconds. */
  readonly timeout: number;
  readonly on: ParentKind;
  /** Whether lists keep null for resources that are missing or hidden, instead of leaving them out. */
  readonly keepsAbsent: boolean;
  /** `resolve` or `writes` of the host; undefined for properties. */
  readonly call: ((...inputs: never[]) => unknown) | undefined;
  /** `result` of a field that writes: its value from the outcomes. */
  readonly result: ((...inputs: never[]) => unknown) | undefined;
}

/** `Patient.riskScore`. */
export function fieldName({ parent, name }: Pick<HostFieldDefinition, 'parent' | 'name'>): string {
  return `${parent}.${name}`;
}
