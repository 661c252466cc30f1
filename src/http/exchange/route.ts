import type { Answer } from './answer.js';
import type { CallerExchange, Exchange } from './exchange.js';
import type { RouteGroup } from './handler-config.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One route as data. */
export interface Route {
  readonly group: RouteGroup;
  readonly method: Method;
  /** Below the base of FHIR, or below `/admin`. */
  readonly root: 'fhir' | 'admin';
  /** `:type/:id/_history`; names after colons are variable. */
  readonly path: string;
  /**
   * The query parameters of the route, in addition to `_format` and `_pretty`; any other is 400. A parameter that is ignored
   * is a promise without behaviour: `dryRun=true` of a removal would remove.
   *
   * - `checked`: the route reads all of them, and refuses unknown ones itself, as searches do
   * - `any`: a read; unknown parameters change nothing and are ignored
   */
  readonly parameters: readonly string[] | 'checked' | 'any';
  /** The body of errors: GraphQL's `errors` instead of an OperationOutcome, where the client accepts only that. */
  readonly isGraphql?: true;
  /** The route decides what `Accept` and `_format` mean. Default: JSON, or 406. */
  readonly takesAnyFormat?: true;
  readonly answer: (exchange: CallerExchange) => Promise<Answer> | Answer;
  /** Answers requests without a caller too. Default: they are 401. */
  readonly answerPublic?: (exchange: Exchange) => Promise<Answer> | Answer;
  /** `answerPublic` answers all requests, without signing in. */
  readonly isAnonymous?: true;
}
