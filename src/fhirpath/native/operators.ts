import { isKindOf } from '../../fhir/model/fhir-model.js';
import type { SyntaxNode } from '../syntax-tree.js';
import { asBoolean, bail, EMPTY, type Evaluate, FALSE, fromBoolean, type Items, type Native, TRUE } from './native.js';

/** Compiles a binary operator; undefined for operators that only fhirpath.js supports. */
export function compileOperator(node: SyntaxNode, compileOperand: CompileOperand): Native | undefined {
  const operator = OPERATORS.get(node.text ?? '');
  if (operator === undefined || !OPERATOR_NODES.has(node.type)) return undefined;
  const [left, right] = (node.children ?? []).map(compileOperand);
  const evaluate = left && right && operator(left, right);
  return evaluate && { evaluate, type: 'boolean' };
}

type CompileOperand = (node: SyntaxNode) => Native | undefined;

/** Types that FHIRPath compares as strings; not dates, times and quantities. */
export function isText(type: string | undefined): boolean {
  return type !== undefined && (isKindOf(type, 'string') || isKindOf(type, 'uri') || type === 'base64Binary');
}

const OPERATOR_NODES: ReadonlySet<string> = new Set([
  ...['EqualityExpression', 'InequalityExpression', 'AndExpression', 'OrExpression', 'XorExpression'],
  'ImpliesExpression',
]);

type OperatorCompiler = (left: Native, right: Native) => Evaluate | undefined;

const OPERATORS: ReadonlyMap<string, OperatorCompiler> = new Map<string, OperatorCompiler>([
  ['=', (left, right) => compileEquality(left, right, TRUE, FALSE)],
  ['!=', (left, right) => compileEquality(left, right, FALSE, TRUE)],
  ['<', (left, right) => compileOrder(left, right, (order) => order < 0)],
  ['<=', (left, right) => compileOrder(left, right, (order) => order <= 0)],
  ['>', (left, right) => compileOrder(left, right, (order) => order > 0)],
  ['>=', (left, right) => compileOrder(left, right, (order) => order >= 0)],
  ['and', logic((left, right) => (left === false || right === false ? false : left && right))],
  ['or', logic((left, right) => (left === true || right === true ? true : left === false ? right : undefined))],
  ['xor', logic((left, right) => (left === undefined || right === undefined ? undefined : left !== right))],
  ['implies', logic(implies)],
]);

/** The common comparison type of two operands; undefined if only fhirpath.js can compare them. */
function comparisonClass(left: Native, right: Native): 'number' | 'text' | 'boolean' | undefined {
  if (isNumber(left.type) && isNumber(right.type)) return 'number';
  if (isText(left.type) && isText(right.type)) return 'text';
  return left.type === 'boolean' && right.type === 'boolean' ? 'boolean' : undefined;
}

function isNumber(type: string | undefined): boolean {
  return type !== undefined && (type === 'decimal' || isKindOf(type, 'integer'));
}

function compileEquality(left: Native, right: Native, equal: Items, different: Items): Evaluate | undefined {
  const comparison = comparisonClass(left, right);
  if (comparison === undefined) return undefined;
  const key = comparison === 'number' ? rounded : unchanged;
  return (self, budget) => {
    const [leftItems, rightItems] = [left.evaluate(self, budget), right.evaluate(self, budget)];
    if (leftItems.length === 0 || rightItems.length === 0) return EMPTY;
    if (leftItems.length !== rightItems.length) return different;
    if (leftItems.length > 1) bail();
    return key(leftItems[0]) === key(rightItems[0]) ? equal : different;
  };
}

function compileOrder(left: Native, right: Native, isPassed: (order: number) => boolean): Evaluate | undefined {
  const comparison = comparisonClass(left, right);
  if (comparison === undefined || comparison === 'boolean') return undefined;
  const key = comparison === 'number' ? rounded : unchanged;
  return (self, budget) => {
    const [leftItems, rightItems] = [left.evaluate(self, budget), right.evaluate(self, budget)];
    if (leftItems.length === 0 || rightItems.length === 0) return EMPTY;
    if (leftItems.length > 1 || rightItems.length > 1) bail();
    const [low, high] = [key(leftItems[0]) as string, key(rightItems[0]) as string];
    return fromBoolean(isPassed(low < high ? -1 : low > high ? 1 : 0));
  };
}

/** FHIRPath decimals have eight places; fhirpath.js rounds the same way. */
function rounded(value: unknown): number {
  return Math.round((value as number) / 1e-8) * 1e-8;
}

function unchanged(value: unknown): unknown {
  return value;
}

type Logic = (left: boolean | undefined, right: boolean | undefined) => boolean | undefined;

/** Three-valued logic, undefined for empty. Both sides are always evaluated because either may need fhirpath.js. */
function logic(combine: Logic): OperatorCompiler {
  return (left, right) => (self, budget) =>
    fromBoolean(combine(asBoolean(left.evaluate(self, budget)), asBoolean(right.evaluate(self, budget))));
}

function implies(left: boolean | undefined, right: boolean | undefined): boolean | undefined {
  if (left === false || right === true) return true;
  return left === undefined ? undefined : right;
}
