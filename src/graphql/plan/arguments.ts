import { FhirError } from '../../fhir/error.js';
import { fromElements, takeElement, WrittenDecimal, writtenDecimal } from '../../fhir/json/decimal-texts.js';
import { Kind, type FieldNode, type ValueNode } from '../graphql-js.js';

/** An argument's value before the variables are known. */
export type Argument =
  /** `text`: the literal of a number, since its digits give its precision; absent otherwise. */
  | { readonly kind: 'literal'; readonly value: Scalar; readonly text?: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Argument[] }
  | { readonly kind: 'object'; readonly fields: readonly (readonly [name: string, value: Argument])[] };

type Scalar = string | number | boolean | null;

/** Variables by name, coerced to their declared types. */
export type Variables = { readonly [name: string]: unknown };

/** The arguments of a field or directive by name. */
export function argumentsOfNode(node: Pick<FieldNode, 'arguments'>): ReadonlyMap<string, Argument> {
  return new Map(node.arguments?.map(({ name, value }) => [name.value, argumentOf(value)]));
}

/**
 * The value of an argument: a scalar or a list of scalars.
 *
 * @returns undefined for an absent argument: not given, null, or a variable without value
 */
export function evaluate(argument: Argument | undefined, variables: Variables): unknown {
  switch (argument?.kind) {
    case undefined:
      return undefined;
    case 'literal':
      return argument.value ?? undefined;
    case 'variable':
      return valueOf(argument.name, variables) ?? undefined;
    case 'list':
      return argument.items.flatMap((item) => evaluate(item, variables) ?? []);
    case 'object':
      return evaluateJson(argument, variables);
  }
}

/**
 * The value of a single-valued argument; a list of one is accepted.
 *
 * @throws FhirError `invalid` - a list of several
 */
export function evaluateSingle(name: string, argument: Argument | undefined, variables: Variables): unknown {
  const value = evaluate(argument, variables);
  if (!Array.isArray(value)) return value;
  if (value.length > 1) throw severalValues(name);
  return value[0] ?? undefined;
}

/** {@link evaluateSingle} as a string. */
export function evaluateSingleText(
  name: string,
  argument: Argument | undefined,
  variables: Variables,
): string | undefined {
  const texts = evaluateTexts(argument, variables);
  if (texts !== undefined && texts.length > 1) throw severalValues(name);
  return texts?.[0];
}

function severalValues(name: string): FhirError {
  return new FhirError('invalid', `Argument "${name}" must be a single value`);
}

/**
 * The value of an argument as JSON, including nulls: resources and patches. Decimals alone or in a list are {@link
 * WrittenDecimal}s; objects keep the texts of their decimals.
 *
 * @returns undefined for an argument that is not given, or a variable without value
 */
export function evaluateJson(argument: Argument | undefined, variables: Variables): unknown {
  switch (argument?.kind) {
    case undefined:
      return undefined;
    case 'literal': {
      const { value, text } = argument;
      return typeof value === 'number' && text !== undefined ? writtenDecimal(value, text) : value;
    }
    case 'variable':
      return writtenVariable(argument.name, variables);
    case 'list':
      return argument.items.map((item) => evaluateJson(item, variables) ?? null);
    case 'object': {
      const fields = argument.fields.map(([name, value]) => [name, evaluateJson(value, variables)] as const);
      // Unlike assignment, this creates a plain property named __proto__.
      return fromElements(fields.filter(([, value]) => value !== undefined));
    }
  }
}

/** The values of a search argument as strings, numbers with their original digits; undefined when it is absent. */
export function evaluateTexts(argument: Argument | undefined, variables: Variables): string[] | undefined {
  if (argument?.kind === 'list') return argument.items.flatMap((item) => evaluateTexts(item, variables) ?? []);
  if (argument?.kind === 'literal' && argument.text !== undefined) return [argument.text];
  const value =
    argument?.kind === 'variable' ? writtenVariable(argument.name, variables) : evaluate(argument, variables);
  if (value === undefined || value === null) return undefined;
  return (Array.isArray(value) ? value : [value]).filter((item) => item != null).map(textOf);
}

function textOf(value: unknown): string {
  return value instanceof WrittenDecimal ? value.text : String(value);
}

/** Variables without a value must not be looked up on the prototype. */
function valueOf(name: string, variables: Variables): unknown {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

function writtenVariable(name: string, variables: Variables): unknown {
  return Object.hasOwn(variables, name) ? takeElement(variables, name) : undefined;
}

export function argumentOf(node: ValueNode): Argument {
  switch (node.kind) {
    case Kind.VARIABLE:
      return { kind: 'variable', name: node.name.value };
    case Kind.LIST:
      return { kind: 'list', items: node.values.map(argumentOf) };
    case Kind.OBJECT:
      return { kind: 'object', fields: node.fields.map(({ name, value }) => [name.value, argumentOf(value)]) };
    case Kind.INT:
    case Kind.FLOAT:
      return { kind: 'literal', value: Number(node.value), text: node.value };
    case Kind.STRING:
    case Kind.ENUM:
    case Kind.BOOLEAN:
      return { kind: 'literal', value: node.value };
    default:
      return { kind: 'literal', value: null };
  }
}
