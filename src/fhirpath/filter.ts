import { compileFhirPath } from './compile.js';

/** Keeps an item or not. `resource` is the resource that contains it: `%resource` of the expression. */
export type FhirPathFilter = (item: unknown, context: { readonly resource: unknown }) => boolean;

/**
 * Compiles the `fhirpath` argument of FHIR GraphQL: an item stays only if the expression gives exactly `true` for it.
 * See https://hl7.org/fhir/R4/graphql.html#list.
 *
 * @param type FHIR type of the items.
 * @throws FhirError as {@link compileFhirPath}; so does the filter.
 */
export function fhirpathFilter(expression: string, type: string): FhirPathFilter {
  const evaluate = compileFhirPath(expression, type);
  return (item, { resource }) => {
    const result = evaluate(item, { resource, rootResource: resource });
    return result.length === 1 && result[0] === true;
  };
}
