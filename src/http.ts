// GraphQL over HTTP for any web framework: a request read, a response made. Nothing here opens a socket.

export { parseJson } from './fhir/json/parse-json.js';
export { documentFromRequest } from './graphql/documents/document-from-request.js';
export type { PersistedDocument } from './graphql/documents/documents.js';
export { getOperationType } from './graphql/get-operation-type.js';
export type { HttpRequest, HttpResponse } from './http/http-types.js';
export { readJsonBody } from './http/read-body.js';
export { readGraphqlRequest, type GraphqlRequest } from './http/read-graphql-request.js';
export { toHttpResponse, type ResponseOptions } from './http/to-http-response.js';
