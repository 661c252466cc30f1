import { tooManyTokens } from './check-document.js';
import { GraphQLError, parse, type DocumentNode } from './graphql-js.js';
import { tooDeep, type Limits } from './limits.js';
import { DocumentErrors } from './prepared-document.js';

/**
 * Parses the text of a query.
 *
 * @throws DocumentErrors - the text is malformed
 * @throws LimitError `tokens`, `depth`
 */
export function parseQuery(query: string, limits: Limits): DocumentNode {
  try {
    // graphql 17 accepts empty selections, which GraphQL's grammar and graphql 16 reject.
    return parse(query, { maxTokens: limits.tokens, allowEmptySelectionSets: false });
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(limits);
    if (!(error instanceof GraphQLError)) throw error;
    // "more that" is the spelling of graphql 16.
    const isTooLong = ['than', 'that'].some((word) => error.message.includes(`more ${word} ${limits.tokens} tokens`));
    if (isTooLong) throw tooManyTokens(limits);
    throw new DocumentErrors([withUnderscores(error, query)]);
  }
}

/** FHIR's search parameters have hyphens, which GraphQL's grammar reads as the beginning of a number. */
function withUnderscores(error: GraphQLError, query: string): GraphQLError {
  const at = error.positions?.[0];
  if (at === undefined || !error.message.includes('expected digit')) return error;
  const before = /[A-Za-z_][\w-]{0,63}-$/.exec(query.slice(Math.max(0, at - 65), at))?.[0];
  const after = /^\w[\w-]{0,63}/.exec(query.slice(at, at + 65))?.[0];
  if (before === undefined || after === undefined) return error;
  const name = `${before}${after}`.replaceAll('-', '_');
  const { source, positions } = error;
  return new GraphQLError(`${error.message} Did you mean "${name}"?`, {
    ...(source === undefined ? {} : { source }),
    ...(positions === undefined ? {} : { positions }),
  });
}
