import type { ElementDefinition } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { StepBudget } from '../step-budget.js';
import { countNodes, parametersOf, type SyntaxNode, unquote, unwrap } from '../syntax-tree.js';
import {
  asBoolean,
  BAIL,
  bail,
  EMPTY,
  type Evaluate,
  type ExpressionContext,
  FALSE,
  fromBoolean,
  type Items,
  type Native,
  TRUE,
} from './native.js';
import { compileOperator, isText } from './operators.js';

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

/** Compiles a parameter that is evaluated once per item of the given type. */
type CompileCriteria = (parameter: SyntaxNode, type: string) => Native | undefined;

type FunctionCompiler = (
  model: FhirModel,
  from: Native,
  parameter: SyntaxNode | undefined,
  compileCriteria: CompileCriteria,
) => Native | undefined;

/** Compiles a function call; undefined for calls that only fhirpath.js supports. */
function compileFunction(
  model: FhirModel,
  from: Native,
  name: string,
  parameters: readonly SyntaxNode[],
  compileCriteria: CompileCriteria,
): Native | undefined {
  return parameters.length > 1 ? undefined : COMPILERS.get(name)?.(model, from, parameters[0], compileCriteria);
}

const COMPILERS: ReadonlyMap<string, FunctionCompiler> = new Map<string, FunctionCompiler>([
  ['exists', compileExists],
  [
    'empty',
    (_, from) => ({
      evaluate: (self, budget) => fromBoolean(from.evaluate(self, budget).length === 0),
      type: 'boolean',
    }),
  ],
  ['count', (_, from) => ({ evaluate: (self, budget) => [from.evaluate(self, budget).length], type: 'integer' })],
  ['first', (_, from) => ({ evaluate: (self, budget) => from.evaluate(self, budget).slice(0, 1), type: from.type })],
  ['last', (_, from) => ({ evaluate: (self, budget) => from.evaluate(self, budget).slice(-1), type: from.type })],
  ['not', compileNot],
  ['where', compileWhere],
  ['ofType', compileOfType],
  ['extension', compileExtension],
  ['startsWith', textTest((text, part) => text.startsWith(part))],
  ['endsWith', textTest((text, part) => text.endsWith(part))],
  ['contains', textTest((text, part) => text.includes(part))],
]);

function compileExists(
  _: FhirModel,
  from: Native,
  criteria: SyntaxNode | undefined,
  compileCriteria: CompileCriteria,
): Native | undefined {
  const found = criteria === undefined ? from : compileWhere(_, from, criteria, compileCriteria);
  return found && { evaluate: (self, budget) => fromBoolean(found.evaluate(self, budget).length > 0), type: 'boolean' };
}

function compileWhere(
  _: FhirModel,
  from: Native,
  criteria: SyntaxNode | undefined,
  compileCriteria: CompileCriteria,
): Native | undefined {
  if (from.type === undefined || criteria === undefined) return undefined;
  const evaluate = compileCriteria(criteria, from.type)?.evaluate;
  if (evaluate === undefined) return undefined;
  const stepsPerItem = 1 + countNodes(criteria);
  const isMet = (item: unknown, budget: StepBudget): boolean => {
    budget.spend(stepsPerItem);
    return asBoolean(evaluate([item], budget)) === true;
  };
  return {
    evaluate: (self, budget) => from.evaluate(self, budget).filter((item) => isMet(item, budget)),
    type: from.type,
  };
}

function compileNot(_: FhirModel, from: Native): Native {
  const evaluate: Evaluate = (self, budget) => {
    const value = asBoolean(from.evaluate(self, budget));
    return fromBoolean(value === undefined ? undefined : !value);
  };
  return { evaluate, type: 'boolean' };
}

/** Selects forms of a choice; otherwise the static type already decides. */
function compileOfType(model: FhirModel, from: Native, parameter: SyntaxNode | undefined): Native | undefined {
  const type = parameter?.text ?? '';
  if (from.choice === undefined || model.typeDefinition(type) === undefined) return undefined;
  const evaluate = readElements(model, from.choice.from, from.choice.elements, (element) =>
    model.isA(element.type, type),
  );
  return evaluate && { evaluate, type };
}

function compileExtension(model: FhirModel, from: Native, parameter: SyntaxNode | undefined): Native | undefined {
  const url = textLiteral(parameter);
  const element = model.typeDefinition(from.type ?? '')?.elements.get('extension');
  const read = url === undefined || element === undefined ? undefined : readElements(model, from.evaluate, [element]);
  if (read === undefined) return undefined;
  return {
    evaluate: (self, budget) =>
      read(self, budget).filter((extension) => isJsonObject(extension) && extension.url === url),
    type: 'Extension',
  };
}

function textTest(test: (text: string, part: string) => boolean): FunctionCompiler {
  return (_, from, parameter) => {
    const part = textLiteral(parameter);
    if (part === undefined || !isText(from.type)) return undefined;
    const evaluate: Evaluate = (self, budget) => {
      const items = from.evaluate(self, budget);
      if (items.length === 0) return EMPTY;
      if (items.length > 1) bail();
      const text = items[0] as string;
      budget.spend(text.length / 8);
      return fromBoolean(test(text, part));
    };
    return { evaluate, type: 'boolean' };
  };
}

function textLiteral(parameter: SyntaxNode | undefined): string | undefined {
  const node = parameter && unwrap(parameter);
  return node?.type === 'StringLiteral' ? unquote(node.text ?? '') : undefined;
}

/** How JSON writes the values of a type; undefined for types that are left to fhirpath.js. */
function jsonTypeOf(model: FhirModel, type: string): 'string' | 'number' | 'boolean' | 'object' | undefined {
  if (type === 'boolean') return 'boolean';
  if (NUMBERS.has(type)) return 'number';
  const kind = model.typeDefinition(type)?.kind;
  // fhirpath.js starts a new path at a contained resource.
  return kind === 'primitive' ? 'string' : kind === 'complex' ? 'object' : undefined;
}

const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'integer', 'positiveInt', 'unsignedInt']);

/**
 * Reads an element, or the typed forms of a choice, from each item of an expression's result.
 *
 * @param keeps which forms of a choice to read. Default: all.
 */
function readElements(
  model: FhirModel,
  from: Evaluate,
  elements: readonly ElementDefinition[],
  keeps: (element: ElementDefinition) => boolean = () => true,
): Evaluate | undefined {
  const readers = elements.map((element) => compileReader(model, element, keeps(element)));
  if (!readers.every((reader) => reader !== undefined)) return undefined;
  return (self, budget) => {
    const result: unknown[] = [];
    for (const item of from(self, budget)) {
      if (!isJsonObject(item)) bail();
      let forms = 0;
      for (const read of readers) if (read(item, result)) forms += 1;
      // Two forms of one choice are invalid data, and fhirpath.js reads only one of them.
      if (forms > 1) bail();
    }
    // Nearly all elements have one value or none; their node is charged.
    if (result.length > 1) budget.spend(result.length);
    return result;
  };
}

/** Appends the values of an element to the result. @returns whether there were any. */
type Reader = (owner: JsonObject, result: unknown[]) => boolean;

function compileReader(model: FhirModel, { name, type }: ElementDefinition, isKept: boolean): Reader | undefined {
  const sibling = `_${name}`;
  const jsonType = jsonTypeOf(model, type);
  if (jsonType === undefined) return undefined;
  const check = jsonType === 'object' ? checkObject : (value: unknown) => typeof value === jsonType || bail();
  return (owner, result) => {
    if (owner[sibling] !== undefined) bail();
    const value = owner[name];
    if (value === undefined) return false;
    for (const item of Array.isArray(value) ? (value as Items) : [value]) {
      check(item);
      if (isKept) result.push(item);
    }
    return true;
  };
}

function checkObject(value: unknown): void {
  // fhirpath.js treats every object with a resourceType as a resource.
  if (!isJsonObject(value) || value.resourceType !== undefined) bail();
}
