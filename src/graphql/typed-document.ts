import type { FhirGraphqlContext, FhirGraphqlRequest } from './context.js';
import type { DocumentText, PersistedDocument } from './documents/documents.js';
import type { DocumentNode } from './graphql-js.js';

/** A parsed document that carries the types of its result and variables, as code generators make them. */
export type TypedDocument<Data, Variables> = DocumentNode & {
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
};

/** What is asked: text, a parsed or typed document, or the id of a persisted one. */
export type QueryDocument<Data, Variables> = DocumentText | TypedDocument<Data, Variables> | PersistedDocument;

/**
 * The context of a query whose variables have a type: `variables` must fit it, and must be there where the document
 * requires one. Of text, and of documents without types, every object is taken.
 */
export type TypedContext<Variables> = WithVariables<FhirGraphqlContext, Variables>;

/** A request with variables of a type, as {@link TypedContext}. */
export type TypedRequest<Variables> = WithVariables<FhirGraphqlRequest, Variables>;

/** Options with the type of their `variables` replaced; as they are where names and values of the variables are unknown. */
export type WithVariables<Options, Variables> = unknown extends (
  string extends keyof Variables ? Variables[keyof Variables] : Variables
)
  ? Options
  : Omit<Options, 'variables'> &
      (Record<never, never> extends Variables
        ? { readonly variables?: Variables | null | undefined }
        : { readonly variables: Variables });
