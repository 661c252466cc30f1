import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { isJsonObject } from '../../fhir/resource.js';
import type { StepBudget } from '../step-budget.js';
import { countNodes, unquote, unwrap, type SyntaxNode } from '../syntax-tree.js';
import { asBoolean, bail, EMPTY, type Evaluate, fromBoolean, type Native } from './native.js';
import { readElements } from './element-access.js';
import { isText } from './operators.js';

/** Compiles a parameter that is evaluated once per item of the given type. */
type CompileCriteria = (parameter: SyntaxNode, type: string) => Native | undefined;

type FunctionCompiler = (
  model: FhirModel,
  from: Native,
  parameter: SyntaxNode | undefined,
  compileCriteria: CompileCriteria,
) => Native | undefined;

/** Compiles a function call; undefined for calls that only fhirpath.js supports. */
export function compileFunction(
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
