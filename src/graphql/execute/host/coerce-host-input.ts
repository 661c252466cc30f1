import { FhirError } from '../../../fhir/error.js';
import { plainValue } from '../../../fhir/json/decimal-texts.js';
import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { isJsonObject } from '../../../fhir/resource.js';
import { evaluateJson, type Argument, type Variables } from '../../plan/arguments.js';
import type { HostInputField } from '../../schema/host/host-schema.js';
import { hostOf } from '../../schema/host/service-model.js';
import type { TypeReference } from '../../schema/host/type-reference.js';
import { inputFieldsOf } from '../../schema/input-fields.js';
import { expectedOf, INPUT_SCALARS, readScalar } from '../../schema/input-scalars.js';
import { readInput, type InputFault } from '../read-input.js';

/**
 * The arguments of a field of the host, with their defaults.
 *
 * @throws FhirError `invalid` - a value does not fit its type; the message has its place, never the value
 */
export function coerceHostArguments(
  model: FhirModel,
  definitions: readonly HostInputField[],
  args: { readonly [name: string]: Argument },
  variables: Variables,
): { readonly [name: string]: unknown } {
  const values: { [name: string]: unknown } = {};
  const faults: InputFault[] = [];
  for (const { name, type, defaultValue } of definitions) {
    const given = evaluateJson(Object.hasOwn(args, name) ? args[name] : undefined, variables);
    const value = given === undefined ? defaultValue : given;
    if (value === undefined && type.kind !== 'required') continue;
    values[name] = coerce(model, type, value, name, faults, 0);
  }
  const [fault] = faults;
  if (fault === undefined) return values;
  throw new FhirError('invalid', `Argument "${fault.path}": ${fault.reason}`, {
    issues: faults.map(({ path, reason }) => ({ code: 'invalid', diagnostics: `${path}: ${reason}` })),
  });
}

/** Coerces a variable whose type is the host's, as {@link coerceHostArguments}. */
export function coerceHostInput(
  model: FhirModel,
  type: TypeReference,
  value: unknown,
): { readonly value: unknown; readonly faults: readonly InputFault[] } {
  const faults: InputFault[] = [];
  return { value: coerce(model, type, value, '', faults, 0), faults };
}

const MAX_FAULTS = 20;
const MAX_DEPTH = 100;

function coerce(
  model: FhirModel,
  type: TypeReference,
  value: unknown,
  path: string,
  faults: InputFault[],
  depth: number,
): unknown {
  const refuse = (reason: string): undefined => {
    if (faults.length < MAX_FAULTS) faults.push({ path, reason });
    return undefined;
  };
  if (type.kind === 'required') {
    return value === null || value === undefined
      ? refuse('must be given and not be null')
      : coerce(model, type.of, value, path, faults, depth);
  }
  if (value === null || value === undefined) return null;
  if (depth > MAX_DEPTH) return refuse(`nests deeper than ${MAX_DEPTH} levels`);
  if (type.kind === 'list') {
    // A single value counts as a list of one.
    if (!Array.isArray(value)) return [coerce(model, type.of, value, path, faults, depth + 1)];
    return value.map((item, index) => coerce(model, type.of, item, `${path}[${index}]`, faults, depth + 1));
  }
  const added = hostOf(model)?.types.get(type.name);
  switch (added?.kind) {
    case 'enum':
      return added.values.some(({ name }) => name === value)
        ? value
        : refuse(`expected one of ${added.values.map(({ name }) => name).join(', ')}`);
    case 'input':
      return coerceObject(model, added.fields, value, path, faults, depth, refuse);
    case 'scalar':
    case 'object':
      return plainJson(value);
    case undefined:
      return coerceKnown(model, type.name, value, path, faults, refuse);
  }
}

/** A scalar of GraphQL, or an input type for FHIR resources and data types. */
function coerceKnown(
  model: FhirModel,
  name: string,
  value: unknown,
  path: string,
  faults: InputFault[],
  refuse: (reason: string) => undefined,
): unknown {
  if (INPUT_SCALARS.has(name)) {
    const read = readScalar(name, plainValue(value));
    return read === undefined ? refuse(`expected ${expectedOf(name)}`) : read;
  }
  if (inputFieldsOf(model, name) === undefined) return refuse('has an unknown type');
  const read = readInput(model, { type: name, array: false }, value);
  for (const fault of read.faults) {
    if (faults.length < MAX_FAULTS) faults.push({ path: `${path}${fault.path}`, reason: fault.reason });
  }
  return read.value;
}

function coerceObject(
  model: FhirModel,
  fields: readonly HostInputField[],
  value: unknown,
  path: string,
  faults: InputFault[],
  depth: number,
  refuse: (reason: string) => undefined,
): unknown {
  if (!isJsonObject(plainValue(value)) || !isJsonObject(value)) return refuse('expected an object');
  const unknown = Object.keys(value).find((name) => !fields.some((field) => field.name === name));
  if (unknown !== undefined) return refuse(`there is no field "${unknown.slice(0, 64)}"`);
  const read: [string, unknown][] = [];
  for (const { name, type, defaultValue } of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    const inner = given === undefined ? defaultValue : given;
    if (inner === undefined && type.kind !== 'required') continue;
    read.push([name, coerce(model, type, inner, path === '' ? name : `${path}.${name}`, faults, depth + 1)]);
  }
  return Object.fromEntries(read);
}

/** JSON with plain numbers, without the digits of decimals. */
function plainJson(value: unknown): unknown {
  const plain = plainValue(value);
  if (Array.isArray(plain)) return plain.map(plainJson);
  if (!isJsonObject(plain)) return plain;
  return Object.fromEntries(Object.entries(plain).map(([name, inner]) => [name, plainJson(inner)]));
}
