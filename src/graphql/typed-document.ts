import type { FhirGraphqlContext, FhirGraphqlRequest, ServiceRequest } from './context.js';
import type { DocumentText, PersistedDocument } from './documents/documents.js';
import type { DocumentNode } from './graphql-js.js';

/** A parsed document that carries the types of its result and variables, as created by code generators. */
export type TypedDocument<Data, Variables> = DocumentNode & {
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
};

/** A query: text, a parsed or typed document, or the id of a persisted one. */
export type QueryDocument<Data, Variables> = DocumentText | TypedDocument<Data, Variables> | PersistedDocument;

/**
 * The context of a query whose variables have a type: `variables` must have this type, and is required if the document
 * requires a variable. Untyped documents and text accept any object.
 */
export type TypedContext<Variables> = WithVariables<FhirGraphqlContext, Variables>;

/** A request with variables of a type, as {@link TypedContext}. */
export type TypedRequest<Variables> = WithVariables<FhirGraphqlRequest, Variables>;

/** A request to a service with variables of a type, as {@link TypedContext}. */
export type TypedServiceRequest<Variables> = WithVariables<ServiceRequest, Variables>;

/** Options with the type of `variables` replaced; unchanged if the type of the variables is unknown. */
export type WithVariables<Options, Variables> = unknown extends (
  string extends keyof Variables ? Variables[keyof Variables] : Variables
)
  ? Options
  : Omit<Options, 'variables'> &
      (Record<never, never> extends Variables
        ? { readonly variables?: Variables | null | undefined }
        : { readonly variables: Variables });
