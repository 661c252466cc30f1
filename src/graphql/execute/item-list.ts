import type { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { takeElement } from '../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { asObject, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { compileFhirPath, fhirpathFilter } from '../../fhirpath/compile.js';
import type { StepMeter } from '../../fhirpath/step-budget.js';
import { memberOf } from './member.js';
import { resolvableCanonical, resolvableReference } from './resolvable-reference.js';
import type { ItemFilter, Output, Run } from './run.js';
import { type Argument, evaluate, evaluateSingle, type Variables } from '../plan/arguments.js';
import type {
  ElementFilter,
  HostEdge,
  InlineResourceField,
  ObjectField,
  PlannedField,
  ReferenceEdge,
  SearchEdge,
} from '../plan/plan.js';
import { codeOf } from '../schema/code-names.js';
import { fieldsOf, RESOURCE } from '../schema/fields.js';
import { inOneGo, inTurns } from '../../platform/pace.js';

type ItemWriter = (item: unknown, index: number, out: Output, container: Container, run: Run) => Output | null;

/** Writes a list of objects: the items that remain after the arguments and directives of the field. */
export function compileItems(field: ObjectField | InlineResourceField, write: ItemWriter): Writer {
  const { key, name } = field;
  const { get } = memberOf(name);
  const { set } = memberOf(key);
  const isPlain = field.filter === undefined && field.shaping === undefined;
  return (source, out, container, run) => {
    const value = get(source);
    const items = itemsOf(value);
    if (items === null || (isPlain && items === value)) {
      set(out, items === null ? null : writeAll(items, write, out, container, run));
      return;
    }
    if (areTestedInTurns(field, items, run)) {
      // The key keeps its place in the answer.
      out[key] = null;
      run.longLists.push(() => fillLongList(field, items, write, out, container, run));
      return;
    }
    const kept = inOneGo(keepItems(field, items, out, container, run));
    if (kept !== null) set(out, writeAll(kept, write, out, container, run));
  };
}

function writeAll(
  items: readonly unknown[],
  write: ItemWriter,
  out: Output,
  container: Container,
  run: Run,
): readonly (Output | null)[] {
  const written = new Array<Output | null>(items.length);
  for (let index = 0; index < items.length; index += 1) {
    written[index] = write(items[index], index, out, container, run);
  }
  return written;
}

/**
 * Whether the items are tested in turns with other work: by FHIRPath, which may take milliseconds to compile and for each
 * of them.
 */
function areTestedInTurns(
  { filter, shaping }: ObjectField | InlineResourceField,
  { length }: readonly unknown[],
  run: Run,
): boolean {
  if (filter?.controls.fhirpath === undefined && shaping?.slice === undefined) return false;
  const isNew = filter?.controls.fhirpath !== undefined && !run.filters.has(filter);
  return isNew || length > LONG || run.pace.isSpent;
}

/** In items. */
const LONG = 64;

async function fillLongList(
  field: ObjectField | InlineResourceField,
  items: readonly unknown[],
  write: ItemWriter,
  out: Output,
  container: Container,
  run: Run,
): Promise<void> {
  if (run.pace.isSpent) await run.pace.next();
  const kept = await inTurns(keepItems(field, items, out, container, run), run.pace);
  if (kept === null) return;
  const list: unknown[] = [];
  out[field.key] = list;
  for (const [index, item] of kept.entries()) {
    if (run.isLookDue && run.pace.isSpent) await run.pace.next();
    list.push(write(item, index, out, container, run));
  }
}

/** The items that pass the filter; null (and the field fails) if it is malformed. Yields between items. */
function* keepItems(
  field: ObjectField | InlineResourceField,
  items: readonly unknown[],
  out: Output,
  container: Container,
  run: Run,
): Generator<void, readonly unknown[] | null> {
  const type = field.kind === 'object' ? field.selection.type : RESOURCE;
  try {
    const kept = field.filter === undefined ? items : yield* filterItems(items, filterOf(field, run), container);
    return yield* shapeItems(field, type, kept, out, container.resource, run);
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

function* filterItems(
  items: readonly unknown[],
  filter: ItemFilter,
  container: Container,
): Generator<void, readonly unknown[]> {
  const kept: unknown[] = [];
  for (const item of items) {
    yield;
    if (filter.keeps(item, container)) kept.push(item);
  }
  return filter.page(kept);
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

/** The items of primitives left by `@first` and `@slice`; null (and the field fails) if an expression is malformed. */
export function shapedItems(
  field: PlannedField,
  type: string,
  items: readonly unknown[],
  out: Output,
  container: Container,
  run: Run,
): readonly unknown[] | null {
  if (field.shaping === undefined) return items;
  try {
    return inOneGo(shapeItems(field, type, items, out, container.resource, run));
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

/**
 * Applies `@first` and `@slice` to the items of a field while their source is available: `@first` keeps one, `@slice`
 * records the suffix of each item's name. Yields between items. See https://hl7.org/fhir/R4/graphql.html#flattening.
 *
 * @param type FHIR type of the items
 * @throws FhirError `invalid` - a malformed FHIRPath expression
 */
export function* shapeItems(
  { key, shaping }: Pick<PlannedField, 'key' | 'shaping'>,
  type: string,
  items: readonly unknown[],
  out: Output,
  resource: object,
  run: Run,
): Generator<void, readonly unknown[]> {
  // Nearly no field is shaped.
  if (shaping === undefined) return items;
  const kept = shaping.first ? items.slice(0, 1) : items;
  const path = evaluate(shaping.slice, run.options.variables);
  if (path === undefined) return kept;
  if (path !== '$index') run.spendExpression(String(path));
  const suffixes: string[] = [];
  for (const [index, item] of kept.entries()) {
    yield;
    suffixes.push(path === '$index' ? `.${index}` : sliceSuffix(String(path), type, item, resource, run));
  }
  const known = run.slices.get(out);
  if (known === undefined) run.slices.set(out, new Map([[key, suffixes]]));
  else known.set(key, suffixes);
  return kept;
}

/** An item with an empty result keeps its plain name; several results are joined with commas. */
function sliceSuffix(path: string, type: string, item: unknown, resource: object, run: Run): string {
  const result = compileFhirPath(run.options.store.model, path, type)(item, { resource }, run);
  return result.length === 0 ? '' : `.${result.map(String).join(',')}`;
}

/** Malformed stored data may have a single value in place of a list; it counts as a list of one. */
export function itemsOf(value: unknown): readonly unknown[] | null {
  if (value === undefined || value === null) return null;
  return Array.isArray(value) ? value : [value];
}

/** Writes one field of the response. */
export type Writer = (source: JsonObject, out: Output, container: Container, run: Run) => void;

/** A reference leaves a hole for its resource. */
export function compileReference(edge: ReferenceEdge): Writer {
  return (source, out, container, run) => {
    const reference = edge.canonical
      ? resolvableCanonical(source, container)
      : resolvableReference(source, container, edge.targets);
    if (reference === undefined) {
      run.fail(out, edge, new FhirError('invalid', 'The reference is malformed; expected Type/id, #id or a URL'));
    } else if (reference === null) {
      out[edge.key] = null;
    } else {
      run.defer(edge, { out, reference });
    }
  };
}

/** A reverse list leaves a hole for the resources that refer to this one. */
export function compileReverse(edge: SearchEdge): Writer {
  return (source, out, container, run) => {
    const { resourceType: type, id } = container.root;
    run.defer(edge, { out, target: id !== undefined && isStored(source, container, run) ? { type, id } : undefined });
  };
}

/**
 * Resources inside others and external resources have no identity here: nothing can reference them, whatever their id.
 */
function isStored(source: JsonObject, { root }: Container, run: Run): boolean {
  return source === elementsOf(root) && root.id !== undefined && !run.foreign.has(root);
}

/**
 * A field of the host. Resolvers never receive contained and external resources, because they would confuse them with
 * stored resources of the same id; the field is null.
 */
export function compileHostField(edge: HostEdge): Writer {
  const { on, type } = edge.field;
  return (source, out, container, run) => {
    if (on !== 'resource' || isStored(source, container, run)) {
      run.defer(edge, { out, parent: source, container });
    } else if (type.kind === 'required') {
      run.require(out, edge.key);
      run.fail(out, edge, new FhirError('unprocessable', 'Contained and external resources do not have this field'));
    } else {
      out[edge.key] = null;
    }
  };
}

type Predicate = (item: unknown, container: Container) => boolean;

/**
 * Compiles the arguments of a repeating element for one request: equality on sub-elements, then `fhirpath`, then
 * `_offset` and `_count`. See https://hl7.org/fhir/R4/graphql.html#filtering.
 *
 * @param meter meters the work of FHIRPath expressions; it may throw to end the request
 * @throws FhirError `invalid` - a malformed FHIRPath expression, a negative page
 */
function compileItemFilter(
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
