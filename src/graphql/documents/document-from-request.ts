import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';
import { type DocumentNode, GraphQLError, Kind, parse } from '../graphql-js.js';
import { DEFAULT_LIMITS } from '../limits.js';
import { documentIdOf, type PersistedDocument } from './documents.js';

/**
 * Reads the document from the parameters of a GraphQL request, in any of the forms that clients use:
 *
 * ```text
 * { "query": "{ … }" } { "documentId": "sha256:5cb2…" } GraphQL over HTTP, appendix A { "id": "…" }, { "doc_id": "…" }
 * Relay { "extensions": { "persistedQuery": { "version": 1, "sha256Hash": "5cb2…" } } } Apollo; with "query" it
 * registers
 * ```
 *
 * @returns undefined if the request has neither text nor id
 * @throws FhirError `invalid` - a member of the wrong type, another version of the extension, two different ids
 */
export function documentFromRequest(parameters: {
  readonly [name: string]: unknown;
}): string | PersistedDocument | undefined {
  const query = ownValue(parameters, 'query');
  if (query !== undefined && typeof query !== 'string') {
    throw new FhirError('invalid', '"query" must be the text of a GraphQL document');
  }
  const named = ['documentId', 'id', 'doc_id'].map((name) => ownValue(parameters, name));
  const given = [...named, hashOfExtension(ownValue(parameters, 'extensions'))].filter((id) => id !== undefined);
  const ids = new Set(given.map(documentIdOf));
  if (ids.size > 1) throw new FhirError('invalid', 'The request names two different documents; send one id');
  const [documentId] = ids;
  if (documentId === undefined) return query;
  return query === undefined || query === '' ? { documentId } : { documentId, query };
}

function hashOfExtension(extensions: unknown): unknown {
  const extension = isJsonObject(extensions) ? ownValue(extensions, 'persistedQuery') : undefined;
  if (extension === undefined) return undefined;
  if (!isJsonObject(extension) || ownValue(extension, 'version') !== 1) {
    throw new FhirError('invalid', '"extensions.persistedQuery" must be an object of version 1');
  }
  return ownValue(extension, 'sha256Hash') ?? '';
}

/** An own property; undefined if it is missing or null. */
function ownValue(object: { readonly [name: string]: unknown }, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/**
 * Determines the operation type of a request before execution, for hosts that answer GET, which must not write. For
 * documents by id use `readonly` in the context of `executeFhirGraphql`.
 *
 * @param query the text or a parsed document
 * @returns undefined if the type is unknown: the text is malformed, too long, or does not have exactly one operation
 *
 * @example
 * if (method === 'GET' && getOperationType(query) === 'mutation') return { status: 405 };
 */
export function getOperationType(
  query: string | DocumentNode,
  operationName?: string | null,
): 'query' | 'mutation' | 'subscription' | undefined {
  const operations =
    parsed(query)?.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION) ?? [];
  const meant =
    operationName == null || operationName === ''
      ? operations
      : operations.filter(({ name }) => name?.value === operationName);
  return meant.length === 1 ? meant[0]!.operation : undefined;
}

function parsed(query: string | DocumentNode): DocumentNode | undefined {
  if (typeof query !== 'string') return query;
  const { queryLength, tokens } = DEFAULT_LIMITS;
  if (query.length > queryLength) return undefined;
  try {
    return parse(query, { maxTokens: tokens, noLocation: true });
  } catch (error) {
    if (error instanceof GraphQLError || error instanceof RangeError) return undefined;
    throw error;
  }
}
