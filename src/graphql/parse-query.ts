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
    throw new DocumentErrors([error]);
  }
}
