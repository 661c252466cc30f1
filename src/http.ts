// The service over HTTP: a handler for all of it, and its parts for any web framework. Nothing here opens a socket.

export { createFhirHandler } from './http/handler/create-fhir-handler.js';
export type {
  ErrorHandler,
  FhirHandler,
  FhirHandlerConfig,
  FhirHandlerOptions,
  GraphqlOverHttpDraft,
  RequestStatement,
  RouteGroup,
  SmartConfiguration,
  SignInContext,
} from './http/exchange/handler-config.js';
export { toFetch } from './http/handler/create-fhir-handler.js';
export { type NodeRequest, type NodeResponse, toNodeListener } from './http/to-node-listener.js';
export { parseJson } from './fhir/json/parse-json.js';
export { stringifyJson } from './fhir/json/stringify-json.js';
export { documentFromRequest } from './graphql/documents/document-from-request.js';
export { getOperationType } from './graphql/documents/document-from-request.js';
export { readJsonBody } from './http/read-body.js';
export { readGraphqlRequest, type GraphqlRequest } from './http/read-graphql-request.js';
