import type { Resource } from '@medplum/fhirtypes';

// What TypeScript infers from types in SDL text: `[Float!]!` is `readonly number[]`.

/** Arguments of a field by name, each `Int! = 10` or with a description. */
export interface ArgumentTexts {
  readonly [name: string]: string | ArgumentText;
}

/** An argument with a description. */
export interface ArgumentText<Type extends string = string> {
  /** The type in SDL, with its default if it has one: `Int! = 10`. */
  readonly type: Type;
  readonly description?: string | undefined;
  /** The reason why the argument is deprecated. */
  readonly deprecated?: string | undefined;
}

/** The values that a resolver gets for its arguments. */
export type ArgumentValues<Args> = string extends keyof Args
  ? // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the types are texts that the compiler does not know
    { readonly [name: string]: any }
  : {
      readonly [Name in keyof Args as ArgumentTypeText<Args[Name]> extends GivenArgument ? Name : never]: InputOfText<
        ArgumentTypeText<Args[Name]>
      >;
    } & {
      readonly [Name in keyof Args as ArgumentTypeText<Args[Name]> extends GivenArgument ? never : Name]?: InputOfText<
        ArgumentTypeText<Args[Name]>
      >;
    };

/** Arguments that always have a value: required arguments, and arguments with a default. */
export type GivenArgument = `${string}!` | `${string}=${string}`;

/** The type of an argument in SDL. */
export type ArgumentTypeText<Arg> = Arg extends string
  ? Arg
  : Arg extends { readonly type: infer Type extends string }
    ? Type
    : string;

/** The value of an argument for its type in SDL. */
export type InputOfText<Text extends string> = Text extends `${infer Type}=${string}`
  ? SdlValue<TrimmedText<Type>, SdlScalars>
  : SdlValue<TrimmedText<Text>, SdlScalars>;

/** The value that a resolver returns for a type; `unknown` for names that the compiler cannot infer. */
export type TypeOfText<Text extends string> = string extends Text
  ? unknown
  : SdlValue<TrimmedText<Text>, SdlOutputTypes>;

/** The value of a type in SDL, by the types of its names. */
export type SdlValue<Text extends string, Names> = Text extends `${infer Type}!`
  ? RequiredSdlValue<TrimmedText<Type>, Names>
  : RequiredSdlValue<Text, Names> | null | (Names extends SdlOutputTypes ? undefined : never);

/** The same for a type that may not be null. */
export type RequiredSdlValue<Text extends string, Names> = Text extends `[${infer Item}]`
  ? readonly SdlValue<TrimmedText<Item>, Names>[]
  : Text extends keyof Names
    ? Names[Text]
    : unknown;

/** A string type without surrounding spaces. */
export type TrimmedText<Text extends string> = Text extends ` ${infer Rest}` | `${infer Rest} `
  ? TrimmedText<Rest>
  : Text;

/** The scalars of GraphQL. */
export interface SdlScalars {
  readonly String: string;
  readonly ID: string;
  readonly Int: number;
  readonly Float: number;
  readonly Boolean: boolean;
}

/** The type names that the compiler can infer: scalars, and resource types as {@link ResourceLink}. */
export type SdlOutputTypes = SdlScalars & { readonly [Name in Resource['resourceType'] | 'Resource']: ResourceLink } & {
  readonly output?: never;
};

/** Names a resource: `Observation/1`, a Reference, or a resource; only its type and id count. */
export type ResourceLink =
  | string
  | { readonly reference?: string | undefined }
  | { readonly resourceType: string; readonly id?: string | undefined };
