import type { FhirModel } from './fhir-model.js';

/**
 * The way to keep what is derived from definitions: one value per model, made on first use, for as long as the model lives.
 *
 * A cache that is not kept like this would answer for one model with what it learned of another.
 *
 * @example
 * const PLANS = perModel(() => new Map<string, TypePlan>());
 * PLANS(model).get('Patient')
 */
export function perModel<Value>(build: (model: FhirModel) => Value): (model: FhirModel) => Value {
  const values = new WeakMap<FhirModel, { readonly value: Value }>();
  return (model) => {
    let known = values.get(model);
    if (known === undefined) values.set(model, (known = { value: build(model) }));
    return known.value;
  };
}
