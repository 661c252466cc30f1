import type { FhirModel } from '../fhir/model/fhir-model.js';
import { compileFhirPath } from './compile.js';
import type { StepMeter } from './step-budget.js';

/** What a filter may look at beside the item. */
export interface FilterContext {
  /** The resource that contains the item: `%resource` of the expression. */
  readonly resource: unknown;
  /** Takes note of the work. */
  readonly meter?: StepMeter | undefined;
}

/** Keeps an item or not. */
export type FhirPathFilter = (item: unknown, context: FilterContext) => boolean;

/**
 * Compiles the `fhirpath` argument of FHIR GraphQL: an item stays only if the expression gives exactly `true` for it.
 * See https://hl7.org/fhir/R4/graphql.html#list.
 *
 * @param type FHIR type of the items.
 * @throws FhirError as {@link compileFhirPath}; so does the filter.
 */
export function fhirpathFilter(model: FhirModel, expression: string, type: string): FhirPathFilter {
  const evaluate = compileFhirPath(model, expression, type);
  return (item, { resource, meter }) => {
    const result = evaluate(item, { resource, rootResource: resource }, meter);
    return result.length === 1 && result[0] === true;
  };
}
