import type { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import type { InlineResourceField, ObjectField, PlannedField } from '../plan/plan.js';
import { RESOURCE } from '../schema/fields.js';
import { LONG } from './fill-list.js';
import { compileItemFilter } from './item-filter.js';
import type { Output } from './holes.js';
import type { ItemFilter, Run } from './run.js';
import { shapeItems, shapeItemsInTurns } from './shape-items.js';

/** The items that pass the filter; null (and `out` is written) if there is no list. */
export function keptItems(
  field: ObjectField | InlineResourceField,
  value: unknown,
  out: Output,
  container: Container,
  run: Run,
): readonly unknown[] | null {
  const items = itemsOf(value);
  const type = field.kind === 'object' ? field.selection.type : RESOURCE;
  if (items === null || field.filter === undefined) return shapedItems(field, type, items, out, container, run);
  try {
    const filter = filterOf(field, run);
    const kept = filter.page(items.filter((item) => filter.keeps(item, container)));
    return shapeItems(field, type, kept, out, container.resource, run);
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

/**
 * Whether the items are tested in turns with other work: by FHIRPath, which may take milliseconds to compile and for each
 * of them.
 */
export function areTestedInTurns(
  { filter, shaping }: ObjectField | InlineResourceField,
  value: unknown,
  run: Run,
): value is unknown[] {
  if ((filter?.fhirpath === undefined && shaping?.slice === undefined) || !Array.isArray(value)) return false;
  const isNew = filter?.fhirpath !== undefined && !run.filters.has(filter);
  return isNew || value.length > LONG || run.pace.isSpent;
}

/** {@link keptItems} in turns with other work. */
export async function keptItemsInTurns(
  field: ObjectField | InlineResourceField,
  items: readonly unknown[],
  out: Output,
  container: Container,
  run: Run,
): Promise<readonly unknown[] | null> {
  const type = field.kind === 'object' ? field.selection.type : RESOURCE;
  if (run.pace.isSpent) await run.pace.next();
  try {
    const kept = field.filter === undefined ? items : await filterInTurns(items, filterOf(field, run), container, run);
    return await shapeItemsInTurns(field, type, kept, out, container.resource, run);
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

async function filterInTurns(
  items: readonly unknown[],
  filter: ItemFilter,
  container: Container,
  run: Run,
): Promise<readonly unknown[]> {
  const kept: unknown[] = [];
  for (const item of items) {
    if (run.pace.isSpent) await run.pace.next();
    if (filter.keeps(item, container)) kept.push(item);
  }
  return filter.page(kept);
}

/** The items left by `@first` and `@slice`; null (and `out` is written) if there is no list. */
export function shapedItems(
  field: PlannedField,
  type: string,
  items: readonly unknown[] | null,
  out: Output,
  container: Container,
  run: Run,
): readonly unknown[] | null {
  if (items === null) {
    out[field.key] = null;
    return null;
  }
  if (field.shaping === undefined) return items;
  try {
    return shapeItems(field, type, items, out, container.resource, run);
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

/** Compiled once per field and request. */
function filterOf(field: ObjectField | InlineResourceField, run: Run): ItemFilter {
  const filter = field.filter!;
  let compiled = run.filters.get(filter);
  if (compiled === undefined) {
    try {
      compiled = compileItemFilter(run.options.store.model, filter, run.options.variables, run);
    } catch (error) {
      if (!(error instanceof FhirError)) throw error;
      compiled = error;
    }
    run.filters.set(filter, compiled);
  }
  if (compiled instanceof FhirError) throw compiled;
  return compiled;
}

/** Malformed stored data may have a single value in place of a list; it counts as a list of one. */
export function itemsOf(value: unknown): readonly unknown[] | null {
  if (value === undefined || value === null) return null;
  return Array.isArray(value) ? value : [value];
}
