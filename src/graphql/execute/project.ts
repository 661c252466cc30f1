import { isResourceType } from '../../fhir/definitions.js';
import { FhirError } from '../../fhir/error.js';
import { asObject, elementsOf, isJsonObject, type AnyResource, type JsonObject } from '../../fhir/resource.js';
import type {
  ChoiceField,
  InlineResourceField,
  ObjectField,
  PlannedField,
  PrimitiveField,
  ReferenceEdge,
  SearchEdge,
  Selection,
} from '../plan/plan.js';
import { compileItemFilter } from './item-filter.js';
import { completeLeaf } from './complete-leaf.js';
import {
  CANONICAL_TEXT,
  resolvableCanonical,
  resolvableReference,
  type ResolvableReference,
} from './resolvable-reference.js';
import { shapeItems } from './shape-items.js';
import { type ItemFilter, type Output, type Run } from './run.js';

/**
 * Copies what a selection asks for out of one object, leaving holes where a store call is needed.
 *
 * `container` is the resource of the store that the object belongs to, also for what stands inside its contained ones.
 */
export type Projector = (source: JsonObject, container: AnyResource, run: Run) => Output;

/** Writes one field of the response. */
type Writer = (source: JsonObject, out: Output, container: AnyResource, run: Run) => void;

/** @returns the selection compiled to functions; the same ones each time. */
export function projectorOf(selection: Selection): Projector {
  let projector = PROJECTORS.get(selection);
  if (projector === undefined) PROJECTORS.set(selection, (projector = compileSelection(selection)));
  return projector;
}

/** Kept as long as the plan that holds the selection. */
const PROJECTORS = new WeakMap<Selection, Projector>();

/** A stored resource as source of a projection, standing in itself. */
export function projectResource(selection: Selection, resource: AnyResource, run: Run): Output {
  return projectorOf(selection)(elementsOf(resource), resource, run);
}

/** A resource inside `container`, which is the one that its own references to contained resources mean. */
export function projectContained(selection: Selection, resource: JsonObject, container: AnyResource, run: Run): Output {
  return projectorOf(selection)(resource, container, run);
}

/** The type of a resource inside a resource; undefined where stored data holds something else. */
export function knownTypeOf(resource: JsonObject): string | undefined {
  const type = resource['resourceType'];
  return typeof type === 'string' && isResourceType(type) ? type : undefined;
}

function compileSelection(selection: Selection): Projector {
  const writers = selection.fields.map((field) => compileField(field, selection.type));
  return (source, container, run) => {
    run.spendObject(writers.length);
    const out: Output = {};
    run.selections?.set(out, selection);
    for (const write of writers) write(source, out, container, run);
    return out;
  };
}

function compileField(field: PlannedField, type: string): Writer {
  const { key } = field;
  switch (field.kind) {
    case 'typename':
      return (_, out) => {
        out[key] = field.value;
      };
    case 'resource-type':
      return (_, out) => {
        out[key] = type;
      };
    case 'absent':
      return (_, out) => {
        out[key] = null;
      };
    case 'primitive':
      return field.array ? primitives(field) : primitive(field);
    case 'object':
      if (field.canonical) return compileCanonical(field);
      return field.array ? compileObjects(field) : compileObject(field);
    case 'choice':
      return compileChoice(field);
    case 'inline-resource':
      return compileInlineResource(field);
    case 'reference':
      return compileReference(field);
    case 'search':
      return compileReverse(field);
    case 'read':
    case 'introspection':
    case 'write':
      throw new Error(`${field.kind} stands at the root only`);
  }
}

function primitive(field: PrimitiveField): Writer {
  const { key, name } = field;
  const complete = completeLeaf(field.type);
  return (source, out) => {
    out[key] = complete(source[name]);
  };
}

/** Arrays keep their null placeholders, which hold the place of values that have extensions only. */
function primitives(field: PrimitiveField): Writer {
  const { key, name } = field;
  const complete = completeLeaf(field.type);
  return (source, out, container, run) => {
    const items = itemsOf(source[name]);
    const values = items === null ? null : shapeItems(field, field.type, items, out, container, run);
    out[key] = values === null ? null : values.map(complete);
  };
}

function compileChoice(field: ChoiceField): Writer {
  const forms = field.forms.map((form) => ({ name: form.name, write: compileField(form, '') }));
  return (source, out, container, run) => {
    const form = forms.find(({ name }) => source[name] !== undefined && source[name] !== null);
    if (form === undefined) out[field.key] = null;
    else form.write(source, out, container, run);
  };
}

function compileObject(field: ObjectField): Writer {
  const { key, name } = field;
  const project = projectorOf(field.selection);
  return (source, out, container, run) => {
    const value = asObject(source[name]);
    out[key] = value === null ? null : project(value, container, run);
  };
}

function compileObjects(field: ObjectField): Writer {
  const { key, name } = field;
  const project = projectorOf(field.selection);
  return (source, out, container, run) => {
    const items = keptItems(field, source[name], out, container, run);
    if (items === null) return;
    const projected: (Output | null)[] = new Array<Output | null>(items.length);
    for (let index = 0; index < items.length; index += 1) {
      const item = asObject(items[index]);
      projected[index] = item === null ? null : project(item, container, run);
    }
    out[key] = projected;
  };
}

function compileInlineResource(field: InlineResourceField): Writer {
  const { key, name } = field;
  const project = (value: unknown, container: AnyResource, run: Run): Output | null => {
    const type = isJsonObject(value) ? knownTypeOf(value) : undefined;
    if (type === undefined) return null;
    return projectorOf(run.options.selections.forType(field.selections, type))(value as JsonObject, container, run);
  };
  if (!field.array) {
    return (source, out, container, run) => {
      out[key] = project(source[name], container, run);
    };
  }
  return (source, out, container, run) => {
    const items = keptItems(field, source[name], out, container, run);
    if (items !== null) out[key] = items.map((item) => project(item, container, run));
  };
}

function compileReference(edge: ReferenceEdge): Writer {
  return (source, out, container, run) => {
    const reference = edge.canonical ? resolvableCanonical(source) : resolvableReference(source, run.options.baseUrl);
    if (reference === undefined) {
      run.fail(out, edge, new FhirError('invalid', 'The reference is malformed; expected Type/id, #id or a URL'));
    } else if (reference === null) {
      out[edge.key] = null;
    } else {
      run.defer(edge, { out, reference: fromOutside(reference, run.foreign.get(container)), container });
    }
  };
}

/** Inside a resource that stands elsewhere a relative reference leads to its neighbours there, never to ours. */
function fromOutside(reference: ResolvableReference, url: string | undefined): ResolvableReference {
  if (url === undefined || reference.kind !== 'local') return reference;
  const base = url.replace(/\/[A-Za-z]+\/[^/]+(\/_history\/[^/]+)?$/, '');
  return { kind: 'foreign', url: `${base}/${reference.type}/${reference.id}` };
}

function compileReverse(edge: SearchEdge): Writer {
  return (source, out, container, run) => {
    // Contained and foreign resources have no identity here: nothing can refer to them, whatever their id looks like.
    const { resourceType: type, id } = container;
    const stored = source === elementsOf(container) && id !== undefined && !run.foreign.has(container);
    run.defer(edge, { out, target: stored ? { type, id } : undefined });
  };
}

/** A canonical as an object: its id and extensions, and its text for `resource` to follow. */
function compileCanonical(field: ObjectField): Writer {
  const { key, name } = field;
  const project = projectorOf(field.selection);
  const complete = (text: unknown, sibling: unknown, container: AnyResource, run: Run): Output | null => {
    const element = asObject(sibling);
    if (element === null && typeof text !== 'string') return null;
    return project({ ...element, [CANONICAL_TEXT]: text }, container, run);
  };
  if (!field.array) {
    return (source, out, container, run) => {
      out[key] = complete(source[name.slice(1)], source[name], container, run);
    };
  }
  return (source, out, container, run) => {
    const texts = itemsOf(source[name.slice(1)]) ?? [];
    const siblings = itemsOf(source[name]) ?? [];
    const count = Math.max(texts.length, siblings.length);
    out[key] =
      count === 0 ? null : Array.from({ length: count }, (_, at) => complete(texts[at], siblings[at], container, run));
  };
}

/** The items of a repeating element that its filter keeps; null (and `out` is written) where there is no list. */
function keptItems(
  field: ObjectField | InlineResourceField,
  value: unknown,
  out: Output,
  container: AnyResource,
  run: Run,
): readonly unknown[] | null {
  const items = itemsOf(value);
  if (items === null) {
    out[field.key] = null;
    return null;
  }
  const type = field.kind === 'object' ? field.selection.type : 'Resource';
  try {
    const kept = field.filter === undefined ? items : filterOf(field, run)(items, container);
    return shapeItems(field, type, kept, out, container, run);
  } catch (error) {
    run.fail(out, field, error);
    return null;
  }
}

/** The field's filter with this request's variables, compiled once. */
function filterOf(field: ObjectField | InlineResourceField, run: Run): ItemFilter {
  const filter = field.filter!;
  let compiled = run.filters.get(filter);
  if (compiled === undefined) {
    try {
      compiled = compileItemFilter(filter, run.options.variables, run);
    } catch (error) {
      if (!(error instanceof FhirError)) throw error;
      compiled = error;
    }
    run.filters.set(filter, compiled);
  }
  if (compiled instanceof FhirError) throw compiled;
  return compiled;
}

/** Stored data may hold a single value where a list belongs; it counts as a list of one. */
function itemsOf(value: unknown): readonly unknown[] | null {
  if (value === undefined || value === null) return null;
  return Array.isArray(value) ? value : [value];
}
