import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { compileFhirPath } from '../../fhirpath/compile.js';
import { mapInTurns } from '../../platform/pace.js';
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
  resource: object,
  run: Run,
): readonly unknown[] {
  // PERF: nearly no field is shaped.
  if (field.shaping === undefined) return items;
  const { kept, suffixOf } = shapingOf(field, type, items, resource, run);
  if (suffixOf !== undefined) setSuffixes(field, kept.map(suffixOf), out, run);
  return kept;
}

/** {@link shapeItems} in turns with other work, for items of any number. */
export async function shapeItemsInTurns(...given: Parameters<typeof shapeItems>): Promise<readonly unknown[]> {
  const [field, type, items, out, resource, run] = given;
  const { kept, suffixOf } = shapingOf(field, type, items, resource, run);
  if (suffixOf === undefined) return kept;
  setSuffixes(field, await mapInTurns(kept, run.pace, suffixOf), out, run);
  return kept;
}

interface ShapedItems {
  readonly kept: readonly unknown[];
  /** Undefined if names have no suffixes. */
  readonly suffixOf: ((item: unknown, index: number) => string) | undefined;
}

function shapingOf(
  { shaping }: Pick<PlannedField, 'shaping'>,
  type: string,
  items: readonly unknown[],
  resource: object,
  run: Run,
): ShapedItems {
  const kept = shaping?.first === true ? items.slice(0, 1) : items;
  const path = evaluate(shaping?.slice, run.options.variables);
  if (path === undefined) return { kept, suffixOf: undefined };
  if (path !== '$index') run.spendExpression(String(path));
  const { model } = run.options.store;
  return { kept, suffixOf: (item, index) => sliceSuffix(model, String(path), type, item, index, { resource, run }) };
}

function setSuffixes({ key }: Pick<PlannedField, 'key'>, suffixes: readonly string[], out: Output, run: Run): void {
  const known = run.slices.get(out);
  if (known === undefined) run.slices.set(out, new Map([[key, suffixes]]));
  else known.set(key, suffixes);
}

/** An item with an empty result keeps its plain name; several results are joined with commas. */
function sliceSuffix(
  model: FhirModel,
  path: string,
  type: string,
  item: unknown,
  index: number,
  { resource, run }: { readonly resource: object; readonly run: Run },
): string {
  if (path === '$index') return `.${index}`;
  const result = compileFhirPath(model, path, type)(item, { resource }, run);
  return result.length === 0 ? '' : `.${result.map(String).join(',')}`;
}
