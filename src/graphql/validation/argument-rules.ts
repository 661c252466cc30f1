import { didYouMean, isSameName } from '../../fhir/messages/did-you-mean.js';
import { orList } from '../../fhir/messages/quote.js';
import { GraphQLError, Kind } from '../graphql-js.js';
import {
  KnownArgumentNamesOnDirectivesRule,
  type ValidationContext,
  type ValidationRule,
  ProvidedRequiredArgumentsRule,
} from '../graphql-js-validation.js';
import { familiarArgument } from './familiar-names.js';
import { offeredReferences } from './fhir-rules.js';

/**
 * graphql-js's rule "Argument Names", with suggestions specific to FHIR: `_count` for `first`, `_filter` for `where`,
 * `birthdate` for `birthDate`. See https://spec.graphql.org/October2021/#sec-Argument-Names.
 */
export const KnownArgumentsRule: ValidationRule = (context: ValidationContext) => ({
  ...KnownArgumentNamesOnDirectivesRule(context),
  Argument(node) {
    const field = context.getFieldDef();
    const parent = context.getParentType();
    if (context.getArgument() || !field || !parent || context.getDirective()) return;
    const name = node.name.value;
    const { hideSuggestions = false } = context as { readonly hideSuggestions?: boolean };
    const hint = hideSuggestions
      ? ''
      : suggestion(
          name,
          field.args.map((one) => one.name),
        );
    const message = `Unknown argument "${name}" on field "${parent.name}.${field.name}".${hint}`;
    context.reportError(new GraphQLError(message, { nodes: node }));
  },
});

function suggestion(name: string, names: readonly string[]): string {
  if (names.some((one) => isSameName(one, name))) return didYouMean(name, names);
  const familiar = familiarArgument(name, (one) => names.includes(one));
  if (familiar.length > 0) return ` Did you mean ${orList(familiar.map((one) => `"${one}"`))}?`;
  const compared = COMPARED.exec(name)?.[1];
  if (compared !== undefined && names.includes(compared) && names.includes('_filter')) {
    return ` Did you mean "${compared}", or "_filter" for another comparison?`;
  }
  return didYouMean(name, names);
}

/** `name_contains`, `birthdate_gt`: comparisons as other GraphQL services name them. */
const COMPARED =
  /^(\w+?)_{1,2}(?:contains|exact|not|missing|in|above|below|starts?_?with|ends?_?with|like|eq|ne|gte?|lte?|ge|le)$/;

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
