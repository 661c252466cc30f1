import type { FhirModel } from './fhir-model.js';

/**
 * Caches a value derived from definitions: one per model, built on first use, kept as long as the model lives.
 *
 * Process-wide caches would mix up models.
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
