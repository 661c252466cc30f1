import { oncePer } from '../platform/collections.js';
import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { placeElement, setDecimalText, takeElement, textOfDecimals } from '../fhir/json/decimal-texts.js';
import { GraphQLError, Kind, type VariableDefinitionNode } from './graphql-js.js';
import type { CoercedVariables } from './graphql-js-validation.js';
import { NOT_PLAIN, plainTypeOf, plainValueOf, type PlainType } from './plain-variables.js';
import type { PreparedDocument } from './prepared-document.js';
import { schemaFor } from './schema/schema.js';
import { coerceHostInput } from './execute/host/coerce-host-input.js';
import { readInput, type InputFault } from './execute/read-input.js';
import { enumNamed } from './schema/enums.js';
import { onFirstUse } from '../platform/shared-work.js';
import { hasEnums, hostOf } from './schema/host/service-model.js';
import { namedTypeOf, typeReferenceOf } from './schema/host/type-reference.js';
import { argumentOf, evaluateJson, type Variables } from './plan/arguments.js';
import { inputFieldsOf, JSON_VALUE, RESOURCE_INPUT, type InputField, type InputPlace } from './schema/input-fields.js';

/** Where the types of variables are looked up. */
type VariableTypes = Pick<PreparedDocument, 'model' | 'dialect' | 'root'>;

/**
 * Coerces the variables of a request: scalars and search values by graphql-js, enums, resources and patches by our own code,
 * since its errors give the location but never the value, which may be clinical. Values that coercion leaves as they are
 * do not pass graphql-js.
 */
export async function coerceRequestVariables(
  types: VariableTypes,
  definitions: readonly VariableDefinitionNode[],
  inputs: { readonly [name: string]: unknown },
): Promise<CoercedVariables> {
  if (definitions.length === 0) return { values: {} };
  const readers = READERS(types.model)(definitions);
  const scalars = await coerceScalars(types, readers, inputs);
  if (scalars.errors !== undefined) return scalars;
  const { values } = scalars;
  const errors: GraphQLError[] = [];
  for (const { definition, read } of readers) {
    if (read !== undefined) readOwn(definition, read, inputs, values, errors);
  }
  return errors.length === 0 ? { values } : { errors };
}

/** The variables that our own code does not read. */
async function coerceScalars(
  { model, dialect, root }: VariableTypes,
  readers: readonly VariableReader[],
  inputs: { readonly [name: string]: unknown },
): Promise<CoercedScalars> {
  const scalars = readers.filter(({ read }) => read === undefined);
  const plain = plainValuesOf(scalars, inputs);
  if (plain !== undefined) return { values: plain };
  const { coerceVariables } = await loadCoercion();
  const definitions = scalars.map(({ definition }) => definition);
  const coerced = coerceVariables(schemaFor(model, dialect, root), definitions, inputs);
  if (coerced.errors !== undefined) return coerced;
  const values: { [name: string]: unknown } = { ...coerced.values };
  for (const definition of definitions) keepDecimalText(values, definition, inputs);
  return { values };
}

type CoercedScalars =
  | { readonly values: { [name: string]: unknown }; readonly errors?: undefined }
  | { readonly errors: readonly GraphQLError[] };

/** PERF (start): loaded with the first value that is not plain. */
const loadCoercion = onFirstUse(() => import('./graphql-js-validation.js'));

/** @returns undefined if graphql-js must coerce one of the values */
function plainValuesOf(
  readers: readonly VariableReader[],
  inputs: { readonly [name: string]: unknown },
): { [name: string]: unknown } | undefined {
  const values: { [name: string]: unknown } = {};
  for (const { name, plain } of readers) {
    const value = plain === undefined ? NOT_PLAIN : plainValueOf(plain, name, inputs);
    if (value === NOT_PLAIN) return undefined;
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function readOwn(
  definition: VariableDefinitionNode,
  read: ReadVariable,
  inputs: { readonly [name: string]: unknown },
  values: { [name: string]: unknown },
  errors: GraphQLError[],
): void {
  const { value, faults } = readVariable(definition, read, inputs);
  for (const fault of faults) errors.push(new GraphQLError(fault, { nodes: definition }));
  if (value !== undefined) placeElement(values, definition.variable.name.value, value);
}

/** How one variable is read: by our own code, as a plain value, or by graphql-js. */
interface VariableReader {
  readonly definition: VariableDefinitionNode;
  readonly name: string;
  readonly read: ReadVariable | undefined;
  readonly plain: PlainType | undefined;
}

const READERS = perModel((model) =>
  oncePer((definitions: readonly VariableDefinitionNode[]): readonly VariableReader[] =>
    definitions.map((definition) => ({
      definition,
      name: definition.variable.name.value,
      read: readerOf(model, definition),
      // graphql-js evaluates defaults.
      plain: definition.defaultValue === undefined ? plainTypeOf(definition) : undefined,
    })),
  ),
);

/** graphql-js makes numbers of decimals; how they are written gives the precision of searches. */
function keepDecimalText(
  values: { [name: string]: unknown },
  definition: VariableDefinitionNode,
  inputs: Variables,
): void {
  const name = definition.variable.name.value;
  const text = textOfDecimals(givenValue(definition, inputs));
  if (text === undefined) return;
  // A single value for a list.
  setDecimalText(values, name, typeof text === 'string' && Array.isArray(values[name]) ? [text] : text);
}

/** The value or default of a variable, with the digits of its decimals. */
function givenValue({ variable, defaultValue }: VariableDefinitionNode, inputs: Variables): unknown {
  const name = variable.name.value;
  const given = Object.hasOwn(inputs, name) ? takeElement(inputs, name) : undefined;
  return given === undefined && defaultValue !== undefined ? evaluateJson(argumentOf(defaultValue), {}) : given;
}

/** Coerces the value of a variable that our own code reads. */
type ReadVariable = (value: unknown) => { readonly value: unknown; readonly faults: readonly InputFault[] };

function readerOf(model: FhirModel, definition: VariableDefinitionNode): ReadVariable | undefined {
  const place = placeOf(model, definition);
  if (place !== undefined) return (value) => readInput(model, place, value);
  const type = typeReferenceOf(definition.type);
  if (hostOf(model)?.types.has(namedTypeOf(type)) !== true) return undefined;
  return (value) => coerceHostInput(model, type, value);
}

/** The input position of a variable with a FHIR input type. */
function placeOf(model: FhirModel, { type }: VariableDefinitionNode): InputPlace | InputField | undefined {
  let array = false;
  let node = type;
  while (node.kind !== Kind.NAMED_TYPE) {
    array ||= node.kind === Kind.LIST_TYPE;
    node = node.type;
  }
  const name = node.name.value;
  const definition = hasEnums(model) ? enumNamed(model, name) : undefined;
  if (definition !== undefined) {
    const { description, values: codes } = definition;
    return { name, type: 'String', array, required: false, description, codes };
  }
  const isOwn = name === JSON_VALUE || name === RESOURCE_INPUT || inputFieldsOf(model, name) !== undefined;
  return isOwn ? { type: name, array } : undefined;
}

function readVariable(
  definition: VariableDefinitionNode,
  readValue: ReadVariable,
  inputs: Variables,
): { readonly value?: unknown; readonly faults: readonly string[] } {
  const { variable, type } = definition;
  const name = `Variable "$${variable.name.value}"`;
  const value = givenValue(definition, inputs);
  if (value === undefined || value === null) {
    return type.kind === Kind.NON_NULL_TYPE
      ? { faults: [`${name} must be given and not be null.`] }
      : { value, faults: [] };
  }
  const read = readValue(value);
  const faults = read.faults.map(
    ({ path, reason }) => `${name}${path === '' ? '' : ` at "${path.replace(/^\./, '')}"`}: ${reason}`,
  );
  return { value: read.value, faults };
}
