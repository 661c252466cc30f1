import type { Container } from '../../fhir/container.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError } from '../../fhir/error.js';
import { asObject, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { fhirpathFilter } from '../../fhirpath/compile.js';
import type { StepMeter } from '../../fhirpath/step-budget.js';
import { evaluate, evaluateSingle, type Argument, type Variables } from '../plan/arguments.js';
import type { ElementFilter } from '../plan/plan.js';
import { codeOf } from '../schema/code-names.js';
import { fieldsOf } from '../schema/fields.js';
import type { ItemFilter } from './run.js';
import { takeElement } from '../../fhir/json/decimal-texts.js';

type Predicate = (item: unknown, container: Container) => boolean;

/**
 * Compiles the arguments of a repeating element for one request: equality on sub-elements, then `fhirpath`, then
 * `_offset` and `_count`. See https://hl7.org/fhir/R4/graphql.html#filtering.
 *
 * @param meter meters the work of FHIRPath expressions; it may throw to end the request
 * @throws FhirError `invalid` - a malformed FHIRPath expression, a negative page
 */
export function compileItemFilter(
  model: FhirModel,
  filter: ElementFilter,
  variables: Variables,
  meter: StepMeter,
): ItemFilter {
  const predicates: Predicate[] = [];
  for (const { name, value, codes } of filter.equals) {
    const wanted = evaluate(value, variables);
    if (wanted === undefined) continue;
    const values = (Array.isArray(wanted) ? wanted : [wanted]) as readonly unknown[];
    const meant = codes === undefined ? values : values.map((one) => codeOf(codes, String(one)) ?? one);
    predicates.push(equality(model, filter.element.type, name, new Set(meant)));
  }
  const expression = evaluateSingle('fhirpath', filter.controls.fhirpath, variables);
  if (expression !== undefined)
    predicates.push(fhirpathPredicate(model, String(expression), itemTypeOf(model, filter), meter));
  const offset = pageNumber('_offset', filter.controls._offset, variables) ?? 0;
  const count = pageNumber('_count', filter.controls._count, variables);
  return {
    keeps: (item, container) => predicates.every((keep) => keep(item, container)),
    page: (kept) =>
      offset === 0 && count === undefined ? kept : kept.slice(offset, count === undefined ? undefined : offset + count),
  };
}

/**
 * The value of `_count` or `_offset`.
 *
 * @throws FhirError `invalid` - not a whole number from 0 up
 */
export function pageNumber(name: string, argument: Argument | undefined, variables: Variables): number | undefined {
  const value = evaluate(argument, variables);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new FhirError('invalid', `Argument "${name}" must be a whole number from 0 up`);
}

/** The FHIR type of the items, for FHIRPath. */
export function itemTypeOf(model: FhirModel, { element: { type } }: ElementFilter): string {
  return model.typeDefinition(type) === undefined ? 'Extension' : type;
}

/** Keeps items whose sub-element has the same type and value; a repeating one matches if it contains the value. */
function equality(model: FhirModel, type: string, name: string, values: ReadonlySet<unknown>): Predicate {
  const field = fieldsOf(model, type)?.get(name);
  if (field?.kind === 'extension') {
    const { url, value } = field.shape;
    return (item) => extensionValues(asObject(item) ?? {}, url, value?.name).some((one) => values.has(one));
  }
  return (item) => {
    const value = asObject(item)?.[name];
    return Array.isArray(value) ? value.some((one) => values.has(one)) : values.has(value);
  };
}

function fhirpathPredicate(model: FhirModel, expression: string, type: string, meter: StepMeter): Predicate {
  meter.spendExpression(expression);
  const keep = fhirpathFilter(model, expression, type);
  return (item, container) => keep(item, { resource: container.resource, container, meter });
}

/**
 * The values of the extensions of an object that have a url, in their order.
 *
 * @param value the element of the extension that has the value; undefined: the extension itself
 */
export function extensionValues(object: JsonObject, url: string, value: string | undefined): readonly unknown[] {
  const { extension } = object;
  // Malformed stored data may have a single value in place of a list.
  const all: readonly unknown[] = Array.isArray(extension) ? extension : [extension];
  const extensions = all.filter((one): one is JsonObject => isJsonObject(one) && one['url'] === url);
  if (value === undefined) return extensions;
  return extensions.map((one) => takeElement(one, value)).filter((one) => one !== undefined && one !== null);
}
