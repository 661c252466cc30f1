import { ERROR_CODES } from '../fhir/error.js';
import { errorCodeOf } from '../graphql/documents/documents.js';
import type { FhirGraphqlResult } from '../graphql/execute-fhir-graphql.js';
import { preferredJson } from './accepted-types.js';
import { HttpRequestError } from './http-request-error.js';
import type { HttpResponse } from './http-types.js';
import { retryHeaders } from './retry-headers.js';

// GraphQL over HTTP as its draft of 2026-08-06 says: https://graphql.github.io/graphql-over-http/draft/.

const GRAPHQL_RESPONSE = 'application/graphql-response+json';

/** The media type of a response with status 2xx. All others are GraphQL's own. @throws HttpRequestError 406 */
export function graphqlFormat(accept: string | null): 'application/graphql-response+json' | 'application/json' {
  const type = preferredJson(accept, GRAPHQL_RESPONSE);
  if (type === undefined) throw new HttpRequestError(406, `GraphQL answers ${GRAPHQL_RESPONSE} or application/json`);
  return type;
}

/** The response to a result, except its body. @throws HttpRequestError 406 */
export function draftAnswer(
  result: FhirGraphqlResult,
  accept: string | null,
): Pick<HttpResponse, 'status' | 'headers'> {
  const status = statusOf(result);
  const type = status < 300 ? graphqlFormat(accept) : GRAPHQL_RESPONSE;
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 405 ? { allow: 'POST' } : {}),
    ...(status === 429 ? retryHeaders(result.errors?.[0]?.extensions.details) : {}),
  };
  return { status, headers };
}

function statusOf({ data, errors }: FhirGraphqlResult): number {
  const [first] = errors ?? [];
  if (first === undefined) return 200;
  if (data !== undefined) return 294;
  const { code, details } = first.extensions;
  if (code === 'forbidden' && details?.['readonly'] === true) return 405;
  const known = errorCodeOf(code);
  if (known !== 'invalid') return ERROR_CODES[known].status;
  // A syntax error is 400; all other errors of a document are 422. The prefix is that of graphql-js.
  return first.message.startsWith('Syntax Error') ? 400 : 422;
}
