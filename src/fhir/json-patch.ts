import { FhirError } from './error.js';
import { copyFromHost, sameJson } from './json/copy-json.js';
import { takeElement, withDecimalTexts, withWrittenDecimals, WrittenDecimal } from './json/decimal-texts.js';
import { boundedSize } from './json/json-values.js';
import { hasDecimalText } from './json/stringify-json.js';
import { quote } from './messages.js';
import { type AnyResource, isJsonObject, type JsonObject, MAX_RESOURCE_DEPTH } from './resource.js';

/** One operation of a JSON Patch. See https://www.rfc-editor.org/rfc/rfc6902#section-4. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/**
 * Maximum for all `copy` operations of a patch together, in characters of JSON, where each value counts {@link
 * PER_VALUE} more; otherwise repeated doubling could exhaust the memory.
 */
const MAX_COPIED = 5 * 1024 * 1024;

/**
 * Maximum of values that all operations of a patch touch together, about 50 ms of work. The operation that exceeds it is
 * carried out, so that a single one is never too large.
 */
const MAX_TOUCHED = 100_000;

/** Items of a list that move in the time of one value. */
const ITEMS_PER_VALUE = 1_024;

/** In characters. Copying a value takes as long as copying a string of this length. */
const PER_VALUE = 100;

/** Of the list of operations, and of one of them. */
const OPERATION_LEVELS = 2;

/**
 * Applies a JSON Patch to a copy of a resource: all operations or none.
 *
 * Paths resolve own members of objects and items of arrays only, never inherited members. All values keep the digits of
 * their decimals, moved or not; a `test` compares numbers.
 *
 * @throws FhirError `invalid` - not a JSON Patch, or it changes `resourceType` or `id`
 * @throws FhirError `unprocessable` - a path does not exist, or a `test` fails
 * @throws FhirError `too-costly` - too many operations, or too much copied or touched
 */
export function applyJsonPatch(resource: AnyResource, operations: unknown): AnyResource {
  // Moving the texts of decimals with their values takes five times as long as a copy.
  const movesTexts =
    hasDecimalText(resource) || !fits(operations, MAX_RESOURCE_DEPTH + OPERATION_LEVELS) || hasDecimalText(operations);
  const patched = movesTexts ? (withWrittenDecimals(resource) as AnyResource) : copyFromHost(resource);
  let copied = 0;
  let touched = 0;
  for (const [index, operation] of readJsonPatch(operations).entries()) {
    if (touched > MAX_TOUCHED) {
      const message = `The first ${index} operations of the patch touch more than ${MAX_TOUCHED} values; send an update instead`;
      throw new FhirError('too-costly', message, { details: { max: MAX_TOUCHED } });
    }
    touched += touchedBy(patched, operation);
    if (operation.op === 'copy') copied += costOfCopy(valueAt(patched, operation.from));
    if (copied > MAX_COPIED) {
      const rule = `where each value counts ${PER_VALUE} more`;
      throw new FhirError('too-costly', `The patch copies more than ${MAX_COPIED} characters, ${rule}`);
    }
    for (const step of stepsOf(patched, operation, index)) applyStep(patched, step, index);
  }
  if (patched.resourceType !== resource.resourceType || patched.id !== resource.id) {
    throw new FhirError('invalid', 'A patch cannot change resourceType or id');
  }
  return movesTexts ? (withDecimalTexts(patched) as AnyResource) : patched;
}

function costOfCopy(value: unknown): number {
  return JSON.stringify(value ?? null).length + PER_VALUE * boundedSize(value, MAX_COPIED / PER_VALUE);
}

/** The values that an operation reads or writes, and the items that it shifts. */
function touchedBy(document: AnyResource, operation: ReadOperation): number {
  const { op, path } = operation;
  const parent = parentOf(document, path);
  const shifted = Array.isArray(parent) && op !== 'test' ? parent.length / ITEMS_PER_VALUE : 0;
  if (op === 'remove') return 1 + shifted;
  if (!('from' in operation)) {
    const size = boundedSize(operation.value, MAX_TOUCHED);
    return op === 'test' ? size + boundedSize(valueAt(document, path), MAX_TOUCHED) : size + shifted;
  }
  const from = parentOf(document, operation.from);
  const left = Array.isArray(from) ? from.length / ITEMS_PER_VALUE : 0;
  return boundedSize(valueAt(document, operation.from), MAX_TOUCHED) + shifted + left;
}

type Step = Exclude<ReadOperation, { op: 'move' | 'copy' }>;

/** A `copy` is an `add` of the existing value; a `move` removes it first. */
function stepsOf(document: AnyResource, operation: ReadOperation, index: number): readonly Step[] {
  if (!('from' in operation)) return [operation];
  const { op, from, path } = operation;
  const value = valueAt(document, from);
  if (value === undefined) throw nowhere(index, op, from);
  if (op === 'copy') return [{ op: 'add', path, value }];
  if (path.length > from.length && from.every((name, at) => name === path[at])) {
    throw new FhirError('invalid', `Operation ${index} of the patch moves a value into itself`);
  }
  return [
    { op: 'remove', path: from },
    { op: 'add', path, value },
  ];
}

function applyStep(document: AnyResource, step: Step, index: number): void {
  const { op, path } = step;
  const there = op === 'add' ? canHold(parentOf(document, path), path.at(-1)) : valueAt(document, path) !== undefined;
  if (!there || (path.length === 0 && op !== 'test')) throw nowhere(index, op, path);
  if ('value' in step && !fits(step.value, MAX_RESOURCE_DEPTH - path.length)) {
    throw new FhirError('invalid', `Operation ${index} of the patch nests deeper than ${MAX_RESOURCE_DEPTH} levels`);
  }
  if (step.op === 'test') {
    if (isSame(valueAt(document, path), step.value)) return;
    throw new FhirError('unprocessable', `Operation ${index} of the patch, a test of ${shown(path)}, does not hold`);
  }
  change(parentOf(document, path) as Container, path.at(-1)!, step);
}

type Container = unknown[] | { [name: string]: unknown };

function change(parent: Container, name: string, step: Exclude<Step, { op: 'test' }>): void {
  if (!Array.isArray(parent)) {
    if (step.op === 'remove') Reflect.deleteProperty(parent, name);
    else parent[name] = withWrittenDecimals(step.value);
    return;
  }
  const index = name === '-' ? parent.length : Number(name);
  if (step.op === 'remove') parent.splice(index, 1);
  else parent.splice(index, step.op === 'add' ? 0 : 1, withWrittenDecimals(step.value));
}

function canHold(parent: unknown, name: string | undefined): boolean {
  if (name === undefined) return false;
  if (!Array.isArray(parent)) return isJsonObject(parent) && !(parent instanceof WrittenDecimal);
  return name === '-' || (/^(?:0|[1-9]\d{0,8})$/.test(name) && Number(name) <= parent.length);
}

/** As elements of an object, since decimals by themselves have no place for their text. */
function isSame(value: unknown, other: unknown): boolean {
  return sameJson(withDecimalTexts({ value }), withDecimalTexts({ value: withWrittenDecimals(other) }));
}

function fits(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof WrittenDecimal) return true;
  return levels > 0 && Object.values(value).every((inner) => fits(inner, levels - 1));
}

function nowhere(index: number, op: string, path: readonly string[]): FhirError {
  return new FhirError('unprocessable', `Operation ${index} of the patch (${op}): nothing is at ${shown(path)}`);
}

function shown(path: readonly string[]): string {
  return quote(formatPointer(path), 80);
}

/** An operation with checked members and parsed pointers. */
type ReadOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: readonly string[]; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: readonly string[] }
  | { readonly op: 'move' | 'copy'; readonly from: readonly string[]; readonly path: readonly string[] };

/** Per patch. */
const MAX_OPERATIONS = 1000;

/**
 * Reads a JSON Patch; unknown members are ignored, as RFC 6902 requires.
 *
 * @throws FhirError `invalid` - not a JSON Patch
 * @throws FhirError `too-costly` - more than 1000 operations
 */
function readJsonPatch(operations: unknown): readonly ReadOperation[] {
  if (!Array.isArray(operations)) throw new FhirError('invalid', 'A JSON Patch is an array of operations');
  if (operations.length > MAX_OPERATIONS) {
    throw new FhirError(
      'too-costly',
      `The patch has ${operations.length} operations, at most ${MAX_OPERATIONS} are allowed; send an update instead`,
    );
  }
  return operations.map(readOperation);
}

function readOperation(value: unknown, index: number): ReadOperation {
  if (!isJsonObject(value)) throw new FhirError('invalid', `Operation ${index} of the patch must be an object`);
  const op = member(value, 'op');
  const path = pointer(value, 'path', index);
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (member(value, 'value') === undefined) {
        throw new FhirError('invalid', `Operation ${index} of the patch (${op}) needs a value`);
      }
      return { op, path, value: takeElement(value, 'value') };
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      return { op, path, from: pointer(value, 'from', index) };
    default:
      throw new FhirError(
        'invalid',
        `Operation ${index} of the patch: op must be add, remove, replace, move, copy or test`,
      );
  }
}

function pointer(operation: JsonObject, name: 'path' | 'from', index: number): readonly string[] {
  const names = parsePointer(member(operation, name));
  if (names !== undefined) return names;
  throw new FhirError('invalid', `Operation ${index} of the patch: ${name} must be a JSON Pointer such as /name/0`);
}

/** Own members only, so that a polluted prototype has no effect. */
function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * Splits a JSON Pointer into names: `/name/0/given` is `['name', '0', 'given']`, the empty text is the whole document.
 * See https://www.rfc-editor.org/rfc/rfc6901.
 *
 * @returns undefined for malformed pointers and for names with a special meaning in JavaScript
 */
function parsePointer(text: unknown): readonly string[] | undefined {
  if (text === '') return [];
  if (typeof text !== 'string' || !text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  const names = text
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.some((name) => UNSAFE.has(name)) ? undefined : names;
}

const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

function formatPointer(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The value at a pointer: own members of objects and items of arrays only. @returns undefined if absent */
export function valueAt(document: unknown, names: readonly string[]): unknown {
  let value = document;
  for (const name of names) {
    if (Array.isArray(value))
      value = /^(?:0|[1-9]\d{0,8})$/.test(name) ? (value as unknown[])[Number(name)] : undefined;
    else value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

/** The container of the pointer's value; the value itself need not exist. */
export function parentOf(document: unknown, names: readonly string[]): unknown {
  return valueAt(document, names.slice(0, -1));
}
