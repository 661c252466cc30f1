import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { AnyResource } from '../../fhir/resource.js';
import { compileFhirPath } from '../../fhirpath/compile.js';
import { evaluate } from '../plan/arguments.js';
import type { PlannedField } from '../plan/plan.js';
import type { Output } from './holes.js';
import type { Run } from './run.js';

/**
 * Applies `@first` and `@slice` to the items of a field while their source is available: `@first` keeps one, `@slice`
 * records the suffix of each item's name. See https://hl7.org/fhir/R4/graphql.html#flattening.
 *
 * @param type FHIR type of the items
 * @throws FhirError `invalid` - a malformed FHIRPath expression
 */
export function shapeItems(
  field: Pick<PlannedField, 'key' | 'shaping'>,
  type: string,
  items: readonly unknown[],
  out: Output,
  resource: AnyResource,
  run: Run,
): readonly unknown[] {
  const { shaping } = field;
  if (shaping === undefined) return items;
  const kept = shaping.first ? items.slice(0, 1) : items;
  const path = evaluate(shaping.slice, run.options.variables);
  if (path === undefined) return kept;
  if (path !== '$index') run.spendExpression(String(path));
  const suffixes = kept.map((item, index) =>
    sliceSuffix(run.options.store.model, String(path), type, item, index, { resource, run }),
  );
  const known = run.slices.get(out);
  if (known === undefined) run.slices.set(out, new Map([[field.key, suffixes]]));
  else known.set(field.key, suffixes);
  return kept;
}

/** An item with an empty result keeps its plain name; several results are joined with commas. */
function sliceSuffix(
  model: FhirModel,
  path: string,
  type: string,
  item: unknown,
  index: number,
  { resource, run }: { readonly resource: AnyResource; readonly run: Run },
): string {
  if (path === '$index') return `.${index}`;
  const result = compileFhirPath(model, path, type)(item, { resource }, run);
  return result.length === 0 ? '' : `.${result.map(String).join(',')}`;
}
