import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject } from '../../fhir/resource.js';
import type { StepBudget } from '../step-budget.js';
import { parametersOf, type SyntaxNode, unquote, unwrap } from '../syntax-tree.js';
import { jsonTypeOf, readElements } from './element-access.js';
import { compileFunction } from './functions.js';
import { BAIL, bail, type ExpressionContext, FALSE, type Items, type Native, TRUE } from './native.js';
import { compileOperator } from './operators.js';

/** Returns the items of the result; undefined if the data need fhirpath.js. */
type NativeEvaluation = (input: unknown, budget: StepBudget) => Items | undefined;

/**
 * Compiles common filters to plain functions: paths, `where`, `exists`, comparisons, logic.
 *
 * The results equal those of fhirpath.js. Only well-formed data are handled: everything unusual (an element of the
 * wrong JSON type, `_birthDate`-style siblings, several items where one is expected) is left to fhirpath.js, errors
 * included.
 *
 * @param type FHIR type of the input.
 * @returns undefined for other expressions.
 */
export function compileNative(model: FhirModel, tree: SyntaxNode, type: string): NativeEvaluation | undefined {
  const evaluate = compileNode(tree, { model, type, isParameter: false })?.evaluate;
  if (evaluate === undefined) return undefined;
  return (input, budget) => {
    try {
      return evaluate([input], budget);
    } catch (error) {
      if (error === BAIL) return undefined;
      throw error;
    }
  };
}

/** @returns undefined for expressions that only fhirpath.js supports. */
function compileNode(wrapped: SyntaxNode, context: ExpressionContext): Native | undefined {
  const node = unwrap(wrapped);
  const [first, second] = node.children ?? [];
  switch (node.type) {
    case 'StringLiteral':
      return literal(unquote(node.text ?? ''), 'string');
    case 'NumberLiteral':
      return literal(Number(node.text), 'decimal');
    case 'BooleanLiteral':
      return { evaluate: () => (node.text === 'true' ? TRUE : FALSE), type: 'boolean' };
    case 'ThisInvocation':
      return self(context.model, context);
    case 'MemberInvocation':
      return compileFirstName(unquote(node.text ?? ''), context);
    case 'FunctionInvocation':
      return compileInvocation(context.model, self(context.model, context), node);
    case 'InvocationExpression':
      return compileInvocation(context.model, compileNode(first!, context), second!);
    case 'IndexerExpression':
      return compileIndexer(compileNode(first!, context), unwrap(second!));
    default:
      return compileOperator(node, (operand) => compileNode(operand, context));
  }
}

function literal(value: string | number, type: string): Native {
  const items: Items = Object.freeze([value]);
  return { evaluate: () => items, type };
}

/** Compiles `$this`; the evaluation first checks its type. */
function self(model: FhirModel, { type }: ExpressionContext): Native | undefined {
  const resourceType = model.isResourceType(type) ? type : undefined;
  const jsonType = resourceType === undefined ? jsonTypeOf(model, type) : 'object';
  if (jsonType === undefined) return undefined;
  const isSound = (item: unknown): boolean =>
    jsonType === 'object' ? isJsonObject(item) && item.resourceType === resourceType : typeof item === jsonType;
  return { evaluate: (items) => (items.every(isSound) ? items : bail()), type };
}

/** A path starts with the type itself (`Patient.name`) or with one of its elements. */
function compileFirstName(name: string, context: ExpressionContext): Native | undefined {
  const start = self(context.model, context);
  if (start === undefined || !context.model.isA(context.type, name))
    return start && compileMember(context.model, start, name);
  return context.isParameter ? undefined : start;
}

function compileInvocation(model: FhirModel, from: Native | undefined, invocation: SyntaxNode): Native | undefined {
  const name = unquote(invocation.text ?? '');
  if (from === undefined) return undefined;
  if (invocation.type === 'MemberInvocation') return compileMember(model, from, name);
  if (invocation.type !== 'FunctionInvocation') return undefined;
  return compileFunction(model, from, name, parametersOf(invocation), (parameter, type) =>
    compileNode(parameter, { model, type, isParameter: true }),
  );
}

function compileMember(model: FhirModel, from: Native, name: string): Native | undefined {
  const elements = from.type === undefined ? undefined : model.typeDefinition(from.type)?.elements;
  const element = elements?.get(name);
  if (element !== undefined) {
    // FHIRPath uses the base name of a choice; `valueQuantity` is left to fhirpath.js.
    const evaluate = element.choiceOf === undefined ? readElements(model, from.evaluate, [element]) : undefined;
    return evaluate && { evaluate, type: element.type };
  }
  const forms = [...(elements?.values() ?? [])].filter((one) => one.choiceOf === name);
  const evaluate = forms.length === 0 ? undefined : readElements(model, from.evaluate, forms);
  return evaluate && { evaluate, type: undefined, choice: { from: from.evaluate, elements: forms } };
}

/** Only literal positions: `[0]`. */
function compileIndexer(from: Native | undefined, position: SyntaxNode): Native | undefined {
  const index = Number(position.text);
  if (from === undefined || position.type !== 'NumberLiteral' || !Number.isInteger(index)) return undefined;
  return { evaluate: (items, budget) => from.evaluate(items, budget).slice(index, index + 1), type: from.type };
}
