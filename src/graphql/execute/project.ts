import { oncePer } from '../../platform/collections.js';
import { Container } from '../../fhir/container.js';
import { FhirError } from '../../fhir/error.js';
import { addDecimalText, decimalTextsOf, hideDecimalTexts, placeElement } from '../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { type AnyResource, asObject, elementsOf, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { GraphQLBoolean, GraphQLFloat, GraphQLInt } from '../graphql-js.js';
import type {
  ChoiceField,
  ExtensionField,
  HostPropertyField,
  InlineResourceField,
  ObjectField,
  PlannedField,
  PrimitiveField,
  Selection,
} from '../plan/plan.js';
import type { CodeNames } from '../schema/code-names.js';
import { RESOURCE } from '../schema/fields.js';
import { scalarOf } from '../schema/scalars.js';
import { cacheKeyOf } from './cache-key.js';
import {
  compileHostField,
  compileItems,
  compileReference,
  compileReverse,
  extensionValues,
  itemsOf,
  shapedItems,
  type Writer,
} from './item-list.js';
import { completeHostValue } from './host/complete-host-value.js';
import { hostError } from './host/host-leaf.js';
import { type CopyText, memberOf, OTHER, TEXTS } from './member.js';
import { CANONICAL_TEXT } from './resolvable-reference.js';
import type { Output, Run } from './run.js';

/**
 * Copies the selected fields of one object, leaving holes for store calls.
 *
 * `container` is the resource that the object belongs to; for objects inside a contained resource, that around it.
 */
type Projector = (source: JsonObject, container: Container, run: Run) => Output;

/** The selection compiled to functions. */
const projectorOf: (selection: Selection) => Projector = oncePer(compileSelection);

/** Projects a stored resource, which is its own container. */
export function projectResource(selection: Selection, resource: AnyResource, run: Run): Output {
  const { trace } = run.options;
  const url = run.foreign.get(resource);
  // A resource that the host resolved elsewhere does not belong to this service.
  if (trace !== undefined && url === undefined) trace.show(resource);
  return projectorOf(selection)(elementsOf(resource), Container.of(run.options.store.model, resource, url), run);
}

/** Projects an object inside `container`, which decides what its references mean. */
export function projectContained(selection: Selection, source: JsonObject, container: Container, run: Run): Output {
  return projectorOf(selection)(source, container, run);
}

/** The type of a resource inside a resource; undefined for malformed stored data. */
export function knownTypeOf(model: FhirModel, resource: JsonObject): string | undefined {
  const type = resource['resourceType'];
  return typeof type === 'string' && model.isResourceType(type) ? type : undefined;
}

function compileSelection(selection: Selection): Projector {
  const steps = selection.fields.map((field) => ({ copy: copyOf(field), write: compileField(field, selection.type) }));
  return (source, container, run) => {
    run.spendObject(steps.length);
    const out: Output = {};
    run.selections?.set(out, selection);
    for (const { copy, write } of steps) {
      if (copy === undefined || copy(source, out) === OTHER) write(source, out, container, run);
    }
    return out;
  };
}

/** The function that copies the field if its value is a short text; the writer then handles only other values. */
function copyOf(field: PlannedField): CopyText | undefined {
  if (field.kind !== 'primitive' || field.array || field.key !== field.name) return undefined;
  const isText = completeLeaf(field.type, field.codes) === completeText;
  return isText && Object.hasOwn(TEXTS, field.name) ? TEXTS[field.name] : undefined;
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
    case 'cache-key':
      return (source, out, container, run) => {
        out[key] = cacheKeyOf(source, container, run);
      };
    case 'absent':
      return (_, out) => {
        out[key] = null;
      };
    case 'primitive':
      return field.type === 'decimal' ? decimals(field) : field.array ? primitives(field) : primitive(field);
    case 'object':
      if (field.canonical) return compileCanonical(field);
      return field.array ? compileObjects(field) : compileObject(field);
    case 'choice':
      return compileChoice(field);
    case 'extension':
      return compileExtension(field);
    case 'inline-resource':
      return compileInlineResource(field);
    case 'reference':
      return compileReference(field);
    case 'search':
      return compileReverse(field);
    case 'host':
      return compileHostField(field);
    case 'host-property':
      return compileHostProperty(field);
    case 'read':
    case 'changes':
    case 'introspection':
    case 'write':
    case 'host-write':
      throw new Error(`${field.kind} is only allowed at the root`);
  }
}

function primitive(field: PrimitiveField): Writer {
  const { key, name, type, codes } = field;
  const complete = completeLeaf(type, codes);
  const { get } = memberOf(name);
  const { set } = memberOf(key);
  return (source, out, _, run) => {
    const value = get(source);
    const leaf = value === undefined ? null : complete(value);
    if (leaf === undefined) return writeOther(field, type, value, out, run);
    run.spendLeaf(leaf);
    set(out, leaf);
  };
}

/** Decimals keep their digits. Lists lose items at their end only, so positions stay the same. */
function decimals(field: PrimitiveField): Writer {
  const { key, name } = field;
  const write = field.array ? primitives(field) : primitive(field);
  return (source, out, container, run) => {
    write(source, out, container, run);
    const text = decimalTextsOf(source)?.[name];
    if (text === undefined) return;
    addDecimalText(out, key, text);
    hideDecimalTexts(out);
    run.hasDecimalText = true;
  };
}

/** Arrays keep their null placeholders, which represent values with extensions only. */
function primitives(field: PrimitiveField): Writer {
  const { key, name, type, codes } = field;
  const complete = completeLeaf(type, codes);
  return (source, out, container, run) => {
    const all = itemsOf(source[name]);
    const items = all === null ? null : shapedItems(field, type, all, out, container, run);
    if (items === null) {
      out[key] = null;
      return;
    }
    const values = new Array<unknown>(items.length);
    out[key] = values;
    for (let index = 0; index < items.length; index += 1) {
      const leaf = complete(items[index]);
      run.spendLeaf(leaf);
      values[index] = leaf ?? null;
      if (leaf === undefined) failOther(field, type, items[index], out, run, index);
    }
  };
}

/** Writes null for a value of the wrong type, with an error unless it is missing. */
function writeOther(field: PlannedField, type: string, value: unknown, out: Output, run: Run): void {
  out[field.key] = null;
  failOther(field, type, value, out, run);
}

function failOther(field: PlannedField, type: string, value: unknown, out: Output, run: Run, index?: number): void {
  if (value === undefined || value === null) return;
  const hasCodes = field.kind === 'primitive' && field.codes !== undefined && typeof value === 'string';
  run.fail(out, field, hasCodes ? wrongCode() : wrongType(type), index);
}

function compileChoice(field: ChoiceField): Writer {
  const forms = field.forms.map((form) => ({ name: form.name, write: compileField(form, '') }));
  return (source, out, container, run) => {
    const form = forms.find(({ name }) => source[name] !== undefined && source[name] !== null);
    if (form === undefined) out[field.key] = null;
    else form.write(source, out, container, run);
  };
}

/** Collects the values of the extensions with the url, and projects them as an element of that name. */
function compileExtension({ url, value, array, field }: ExtensionField): Writer {
  const write = compileField(field, '');
  return (source, out, container, run) => {
    const values = extensionValues(source, url, value);
    const holder: { [name: string]: unknown } = {};
    if (values.length > 0) placeElement(holder, field.name, array ? values : values[0]);
    write(holder, out, container, run);
  };
}

function compileObject(field: ObjectField): Writer {
  const { key, name, selection } = field;
  const { get } = memberOf(name);
  const { set } = memberOf(key);
  const project = projectorOf(selection);
  return (source, out, container, run) => {
    const value = get(source);
    if (value === undefined) set(out, null);
    else if (isJsonObject(value)) set(out, project(value, container, run));
    else writeOther(field, selection.type, value, out, run);
  };
}

function compileObjects(field: ObjectField): Writer {
  const { selection } = field;
  const project = projectorOf(selection);
  return compileItems(field, (item, index, out, container, run) => {
    if (isJsonObject(item)) return project(item, container, run);
    failOther(field, selection.type, item, out, run, index);
    return null;
  });
}

function compileInlineResource(field: InlineResourceField): Writer {
  const { key, name } = field;
  const isContained = name === 'contained';
  const project = (value: JsonObject, around: Container, run: Run): Output | null => {
    const type = knownTypeOf(run.options.store.model, value);
    if (type === undefined) return null;
    const container = isContained ? around.withinContained(value) : around.within(value);
    return projectorOf(run.options.selections.forType(field.selections, type))(value, container, run);
  };
  if (!field.array) {
    return (source, out, container, run) => {
      const value = source[name];
      if (isJsonObject(value)) out[key] = project(value, container, run);
      else writeOther(field, RESOURCE, value, out, run);
    };
  }
  return compileItems(field, (item, index, out, container, run) => {
    if (isJsonObject(item)) return project(item, container, run);
    failOther(field, RESOURCE, item, out, run, index);
    return null;
  });
}

function compileHostProperty(field: HostPropertyField): Writer {
  return (source, out, container, run) => {
    let value: unknown;
    try {
      value = source[field.field.name];
    } catch (error) {
      value = hostError(error);
    }
    completeHostValue(field, value, out, container, run, projectContained);
  };
}

/** A canonical as an object: its id and extensions, and its text, which `resource` follows. */
function compileCanonical(field: ObjectField): Writer {
  const { key, name } = field;
  const project = projectorOf(field.selection);
  const complete = (text: unknown, sibling: unknown, container: Container, run: Run): Output | null => {
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

/**
 * Converts stored values of a FHIR primitive to its GraphQL scalar. Stored data may predate its checks or bypass them.
 *
 * A decimal written as a string is accepted, as in HL7's own examples; codes of an enum become its values.
 *
 * @param codes the codes of an enum; undefined for other values
 * @returns undefined for values that do not fit, including missing ones and codes that the enum does not have
 */
function completeLeaf(primitive: string, codes?: CodeNames): (value: unknown) => unknown {
  if (codes !== undefined) return (value) => nameOfCode(codes, value);
  const scalar = scalarOf(primitive);
  if (scalar === GraphQLBoolean) return completeBoolean;
  if (scalar === GraphQLInt) return completeInt;
  return scalar === GraphQLFloat ? completeFloat : completeText;
}

function nameOfCode({ names }: CodeNames, value: unknown): string | undefined {
  return typeof value === 'string' && Object.hasOwn(names, value) ? names[value] : undefined;
}

/**
 * The error for a stored value of the wrong type, which projects without strict mode accept. It does not contain the
 * value, which may be clinical.
 */
function wrongType(type: string): FhirError {
  return new FhirError('unprocessable', `The stored value is not of type ${type}`);
}

/** The error for a stored code that its enum lacks. */
function wrongCode(): FhirError {
  return new FhirError(
    'unprocessable',
    'The stored value is not a code of the required binding; query it without enums',
  );
}

function completeText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function completeBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** GraphQL's Int and FHIR's integer both have 32 bits. */
function completeInt(value: unknown): number | undefined {
  return typeof value === 'number' && (value | 0) === value ? value : undefined;
}

function completeFloat(value: unknown): number | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** See https://hl7.org/fhir/R4/datatypes.html#decimal. */
const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
