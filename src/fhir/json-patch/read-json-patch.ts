import { FhirError } from '../error.js';
import { takeElement } from '../json/written-decimal.js';
import { isJsonObject, type JsonObject } from '../resource.js';
import { parsePointer } from './json-pointer.js';

/** An operation with checked members and parsed pointers. */
export type ReadOperation =
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
export function readJsonPatch(operations: unknown): readonly ReadOperation[] {
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
