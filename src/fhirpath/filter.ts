import type { Container } from '../fhir/container.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { compileFhirPath } from './compile.js';
import type { StepMeter } from './step-budget.js';

/** The context of a filter, in addition to the item. */
interface FilterContext {
  /** The resource that contains the item, `%resource` in the expression. */
  readonly resource: unknown;
  /** The place of the item, in which `resolve()` finds contained resources and entries. */
  readonly container?: Container | undefined;
  /** Records the work done. */
  readonly meter?: StepMeter | undefined;
}

/** Returns whether to keep an item. */
type FhirPathFilter = (item: unknown, context: FilterContext) => boolean;

/**
 * Compiles the `fhirpath` argument of FHIR GraphQL: keeps the items for which the expression returns exactly `true`.
 * See https://hl7.org/fhir/R4/graphql.html#list.
 *
 * @param type FHIR type of the items.
 * @throws FhirError as {@link compileFhirPath}; so does the filter.
 */
export function fhirpathFilter(model: FhirModel, expression: string, type: string): FhirPathFilter {
  const evaluate = compileFhirPath(model, expression, type);
  return (item, { resource, container, meter }) => {
    const result = evaluate(item, { resource, rootResource: resource }, meter, container);
    return result.length === 1 && result[0] === true;
  };
}
