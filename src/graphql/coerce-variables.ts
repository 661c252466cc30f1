import type { FhirModel } from '../fhir/model/fhir-model.js';
import { placeElement, takeElement, textOfDecimals } from '../fhir/json/written-decimal.js';
import { setDecimalText } from '../fhir/json/decimal-texts.js';
import type { FhirSchema } from './schema/schema.js';
import { coerceVariables, GraphQLError, Kind, type VariableDefinitionNode } from './graphql-js.js';
import type { CoercedVariables } from './graphql-js.js';
import { coerceHostInput } from './execute/host/coerce-host-input.js';
import { readInput, type InputFault } from './execute/read-input.js';
import { enumNamed } from './schema/enums.js';
import { hasEnums, hostOf } from './schema/host/service-model.js';
import { namedTypeOf, typeReferenceOf } from './schema/host/type-reference.js';
import { argumentOf, evaluateJson, type Variables } from './plan/arguments.js';
import { inputFieldsOf, JSON_VALUE, RESOURCE_INPUT, type InputField, type InputPlace } from './schema/input-fields.js';

/**
 * Coerces the variables of a request: scalars and search values by graphql-js, enums, resources and patches by our own code,
 * since its errors give the location but never the value, which may be clinical.
 */
export function coerceRequestVariables(
  schema: FhirSchema,
  definitions: readonly VariableDefinitionNode[],
  inputs: { readonly [name: string]: unknown },
): CoercedVariables {
  const own = new Map<VariableDefinitionNode, ReadVariable>();
  for (const definition of definitions) {
    const read = readerOf(schema.model, definition);
    if (read !== undefined) own.set(definition, read);
  }
  const others = definitions.filter((definition) => !own.has(definition));
  const coerced = coerceVariables(schema, others, inputs);
  if (coerced.errors !== undefined) return coerced;
  const values: { [name: string]: unknown } = { ...coerced.values };
  for (const definition of others) keepDecimalText(values, definition, inputs);
  const errors: GraphQLError[] = [];
  for (const [definition, read] of own) {
    const name = definition.variable.name.value;
    const { value, faults } = readVariable(definition, read, inputs);
    for (const fault of faults) errors.push(new GraphQLError(fault, { nodes: definition }));
    if (value !== undefined) placeElement(values, name, value);
  }
  return errors.length === 0 ? { values } : { errors };
}

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

/** The value or default of a variable, with how its decimals are written. */
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

/** The input position of a variable that is of FHIR. */
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
