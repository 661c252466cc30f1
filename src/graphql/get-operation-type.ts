import { GraphQLError, Kind, parse, type DocumentNode } from './graphql-js.js';
import { DEFAULT_LIMITS } from './limits.js';

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
