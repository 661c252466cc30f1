import { GraphQLError, Kind } from '../graphql-js.js';
import {
  ProvidedRequiredArgumentsRule,
  type ValidationContext,
  type ValidationRule,
} from '../graphql-js-validation.js';
import { offeredReferences } from './fhir-rules.js';

/**
 * graphql-js's rule "Required Arguments", which names the values that `_reference` can have where it is missing. See
 * https://spec.graphql.org/October2021/#sec-Required-Arguments.
 */
export const RequiredArgumentsRule: ValidationRule = (context: ValidationContext) => {
  const report = (error: GraphQLError): void => {
    const [node] = error.nodes ?? [];
    const { hideSuggestions = false } = context as { readonly hideSuggestions?: boolean };
    // It is the only required argument of these fields.
    const offered = hideSuggestions || node?.kind !== Kind.FIELD ? [] : offeredReferences(context, node);
    if (offered.length === 0) return context.reportError(error);
    const message = `${error.message} It is one of: ${offered.join(', ')}.`;
    context.reportError(new GraphQLError(message, { nodes: error.nodes ?? null }));
  };
  const reporting = Object.create(context, { reportError: { value: report } }) as ValidationContext;
  return ProvidedRequiredArgumentsRule(reporting);
};
