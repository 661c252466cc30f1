import { FhirError } from '../../fhir/error.js';
import { didYouMean, quote } from '../../fhir/messages.js';
import type { PathExpression, PathStep } from '../../fhir/model/definition-types.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { assertFhirPath, compileTypedFhirPath } from '../../fhirpath/compile.js';
import { parseFhirPath, unquote, type SyntaxNode, unwrap, parametersOf } from '../../fhirpath/syntax-tree.js';
import { elementsNamed, type Position, reachedFrom } from '../index/element-path.js';

/** An expression of a search parameter for one resource type, or of a component for the values of its composite. */
export interface CompiledExpression {
  /** The alternatives that apply to the type. */
  readonly expression: string;
  /** Absent if the expression needs the FHIRPath library. */
  readonly path?: PathExpression;
  /** Where the path leads; undefined without a path, because it then depends on the data. */
  readonly reached?: readonly Position[];
}

/** Types that mean every resource. */
const EVERY_RESOURCE: ReadonlySet<string> = new Set(['Resource', 'DomainResource']);

/**
 * Compiles the expression of a search parameter for one of its base types.
 *
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - not a FHIRPath expression, one that finds nothing in any
 * resource of the type, or one that reads the target of a reference.
 */
export function compileForType(model: FhirModel, type: string, text: string): CompiledExpression {
  const isTypeName = (name: string): boolean => name === type || (EVERY_RESOURCE.has(name) && model.isA(type, name));
  const appliesTo = ({ tree }: Alternative): boolean => {
    const name = leadingName(tree);
    return name === undefined || isTypeName(name) || model.typeDefinition(name)?.kind !== 'resource';
  };
  const alternatives = alternativesOf(parseFhirPath(text), text).filter(appliesTo);
  if (alternatives.length === 0) throw new FhirError('invalid', `no part of the expression is about ${type}`);
  return compile(model, [type], alternatives, isTypeName);
}

/** Compiles the expression of a component for the values at these positions. */
export function compileForComponent(model: FhirModel, types: readonly string[], text: string): CompiledExpression {
  return compile(model, types, alternativesOf(parseFhirPath(text), text), () => false);
}

function compile(
  model: FhirModel,
  types: readonly string[],
  alternatives: readonly Alternative[],
  isTypeName: (name: string) => boolean,
): CompiledExpression {
  const expression = alternatives.map(({ text }) => text).join(' | ');
  const path = alternatives.map(({ tree }) => pathSteps(tree, isTypeName)?.map((step) => withKnownType(model, step)));
  if (path.every((steps) => steps !== undefined) && path.every((steps) => isWalkable(model, types, steps))) {
    return { expression, path, reached: reachedFrom(model, types, path) };
  }
  assertFhirPath(model, expression, []);
  for (const { tree } of alternatives) {
    assertNoTargetRead(tree);
    assertNamesExist(model, types, tree);
  }
  for (const type of types) compileTypedFhirPath(model, expression, type);
  return { expression };
}

/** R4's own files write `ofType(DateTime)` in places, a type that FHIR does not have. */
function withKnownType(model: FhirModel, step: PathStep): PathStep {
  if (typeof step === 'string' || !('ofType' in step) || model.typeDefinition(step.ofType) !== undefined) return step;
  const ofType = step.ofType[0]!.toLowerCase() + step.ofType.slice(1);
  return model.typeDefinition(ofType) === undefined ? step : { ofType };
}

/**
 * Whether a path leads anywhere by elements alone.
 *
 * @returns false for a path into the extensions of a primitive or into a contained resource, which the library follows
 * @throws FhirError `invalid` - an element does not exist
 */
function isWalkable(model: FhirModel, types: readonly string[], steps: readonly PathStep[]): boolean {
  if (reachedFrom(model, types, [steps]).length > 0) return true;
  for (let length = 1; length <= steps.length; length++) {
    const name = steps[length - 1];
    const owners = reachedFrom(model, types, [steps.slice(0, length - 1)]).map(({ type }) => type);
    if (typeof name !== 'string' || owners.length === 0) continue;
    if (owners.some((owner) => elementsNamed(model, owner, name).length > 0)) continue;
    if (owners.some((owner) => owner === 'Resource' || model.typeDefinition(owner)?.kind === 'primitive')) return false;
    throw noSuchElement(model, owners, name);
  }
  throw new FhirError('invalid', 'the expression finds nothing: no element has the type that it selects');
}

function noSuchElement(model: FhirModel, owners: readonly string[], name: string): FhirError {
  const names = owners.flatMap((owner) => [...(model.typeDefinition(owner)?.elements.keys() ?? [])]);
  return new FhirError('invalid', `${owners[0]!} has no element ${quote(name)}.${didYouMean(name, new Set(names))}`);
}

/** Asserts that every element name exists in some type; in which type depends on the data. */
function assertNamesExist(model: FhirModel, types: readonly string[], tree: SyntaxNode): void {
  const known = ELEMENT_NAMES(model);
  const pending = [tree];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    pending.push(...(node.children ?? []));
    const name = node.type === 'MemberInvocation' ? unquote(node.text ?? '') : undefined;
    if (name !== undefined && !known.has(name)) throw noSuchElement(model, types, name);
  }
}

/** Names of elements, of choices without their type, and of types, which expressions write in the same places. */
const ELEMENT_NAMES = perModel((model): ReadonlySet<string> => {
  const names = new Set([...SYSTEM_NAMES, ...model.typeNames]);
  for (const type of model.typeNames) {
    for (const { name, choiceOf } of model.typeDefinition(type)!.elements.values()) {
      names.add(name);
      if (choiceOf !== undefined) names.add(choiceOf);
    }
  }
  return names;
});

const SYSTEM_NAMES = [
  ...['resourceType', 'FHIR', 'System', 'Boolean', 'String', 'Integer', 'Long', 'Decimal', 'Date', 'DateTime', 'Time'],
];

/** One operand of a union: its syntax tree and its text. */
interface Alternative {
  readonly tree: SyntaxNode;
  readonly text: string;
}

/** The operands of a union (`Patient.name | Person.name`), those in parentheses included; otherwise the expression itself. */
function alternativesOf(tree: SyntaxNode, text: string): readonly Alternative[] {
  const trees = operands(tree);
  const texts = splitUnion(text);
  if (trees.length !== texts.length) return [{ tree, text }];
  return trees.map((one, index) => ({ tree: one, text: texts[index]! }));
}

/** The name that an expression starts from: `Patient` of `Patient.name.given`. */
function leadingName(node: SyntaxNode): string | undefined {
  if (node.type === 'MemberInvocation') return unquote(node.text ?? '');
  return node.children?.[0] === undefined ? undefined : leadingName(node.children[0]);
}

function operands(node: SyntaxNode): readonly SyntaxNode[] {
  const inner = unwrap(node);
  return inner.type === 'UnionExpression' ? (inner.children ?? []).flatMap(operands) : [inner];
}

function splitUnion(text: string): readonly string[] {
  const bars: number[] = [];
  let depth = 0;
  let closed: number | undefined;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (isOpening(token)) depth += 1;
    else if (isClosing(token)) {
      depth -= 1;
      if (depth === 0) closed ??= index;
    } else if (token === '|' && depth === 0) bars.push(index);
  }
  if (bars.length === 0) {
    const trimmed = text.trim();
    const isWrapped = trimmed.startsWith('(') && closed === text.length - 1 - (text.length - text.trimEnd().length);
    return isWrapped ? splitUnion(trimmed.slice(1, -1)) : [trimmed];
  }
  const starts = [0, ...bars.map((bar) => bar + 1)];
  return starts.flatMap((start, index) => splitUnion(text.slice(start, bars[index])));
}

function isOpening(token: string): boolean {
  return token === '(' || token === '[' || token === '{';
}

function isClosing(token: string): boolean {
  return token === ')' || token === ']' || token === '}';
}

/** Quotes, comments, and single characters. */
const TOKENS = /'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\/\*.*?\*\/|\/\/[^\n]*|\S/gs;

/**
 * Compiles a FHIRPath syntax tree to the steps of a path. scripts/definitions/path-expression.mjs does the same for R4.
 *
 * @param isTypeName whether a name at the beginning names the resource itself, as `Patient` in `Patient.name`
 * @returns undefined for every other form of expression
 */
function pathSteps(
  node: SyntaxNode,
  isTypeName: (name: string) => boolean = () => false,
): readonly PathStep[] | undefined {
  const inner = unwrap(node);
  const [from, second] = inner.children ?? [];
  switch (inner.type) {
    case 'MemberInvocation': {
      const name = unquote(inner.text ?? '');
      return inner.atRoot !== undefined && isTypeName(name) ? [] : [name];
    }
    case 'InvocationExpression':
      return append(pathSteps(from!, isTypeName), invocationSteps(second!));
    case 'TypeExpression':
      return inner.text === 'as' ? append(pathSteps(from!, isTypeName), ofType(second)) : undefined;
    case 'IndexerExpression': {
      const steps = pathSteps(from!, isTypeName);
      const index = literal(second!);
      // The index of a deeper element would count within each parent, and FHIRPath's counts in all of them.
      return steps?.length === 1 && typeof index === 'number' ? [...steps, { index }] : undefined;
    }
    default:
      return undefined;
  }
}

function invocationSteps(node: SyntaxNode): readonly PathStep[] | undefined {
  const name = unquote(node.text ?? '');
  if (node.type === 'MemberInvocation') return [name];
  if (node.type !== 'FunctionInvocation') return undefined;
  const [parameter, other] = parametersOf(node);
  if (parameter === undefined || other !== undefined) return undefined;
  switch (name) {
    case 'ofType':
    case 'as':
      return ofType(parameter);
    case 'where':
      return condition(parameter);
    case 'extension': {
      const url = literal(parameter);
      return typeof url === 'string' ? ['extension', { path: ['url'], equals: url }] : undefined;
    }
    default:
      return undefined;
  }
}

/** `system = 'phone'` or `resolve() is Patient`. */
function condition(node: SyntaxNode): readonly PathStep[] | undefined {
  const inner = unwrap(node);
  const [left, right] = inner.children ?? [];
  if (inner.type === 'TypeExpression' && inner.text === 'is') {
    const call = unwrap(left!);
    const type = typeName(right);
    const resolves = call.type === 'FunctionInvocation' && call.text === 'resolve';
    return resolves && type !== undefined ? [{ resolvesTo: type }] : undefined;
  }
  if (inner.type !== 'EqualityExpression' || inner.text !== '=') return undefined;
  const path = pathSteps(left!);
  const equals = literal(right!);
  if (path === undefined || !path.every((step) => typeof step === 'string')) return undefined;
  return typeof equals === 'string' || typeof equals === 'boolean' ? [{ path, equals }] : undefined;
}

function ofType(specifier: SyntaxNode | undefined): readonly PathStep[] | undefined {
  const type = typeName(specifier);
  return type === undefined ? undefined : [{ ofType: type }];
}

/** A type of FHIR. Types of FHIRPath itself are left to the library. */
function typeName(specifier: SyntaxNode | undefined): string | undefined {
  const text = specifier?.text ?? (specifier && unwrap(specifier).text) ?? '';
  const name = text.replace(/^FHIR\./, '');
  return /^\w+$/.test(name) ? name : undefined;
}

function literal(node: SyntaxNode): string | boolean | number | undefined {
  const inner = unwrap(node);
  if (inner.type === 'StringLiteral') return unquote(inner.text ?? '');
  if (inner.type === 'BooleanLiteral') return inner.text === 'true';
  return inner.type === 'NumberLiteral' && /^\d+$/.test(inner.text ?? '') ? Number(inner.text) : undefined;
}

function append(
  steps: readonly PathStep[] | undefined,
  more: readonly PathStep[] | undefined,
): readonly PathStep[] | undefined {
  return steps === undefined || more === undefined ? undefined : [...steps, ...more];
}

/**
 * Asserts that an expression needs no more of the target of `resolve()` than its type and id. An index is made of one
 * resource, so an expression that reads another would find nothing, without an error.
 *
 * @throws FhirError `unsupported` - the expression reads an element of a target
 */
function assertNoTargetRead(tree: SyntaxNode): void {
  visit(tree, false);
}

/**
 * @param self whether `$this` is the target of a reference
 * @returns whether items of the result can be
 */
function visit(wrapped: SyntaxNode, self: boolean): boolean {
  const node = unwrap(wrapped);
  const [first, second] = node.children ?? [];
  switch (node.type) {
    case 'ThisInvocation':
      return self;
    case 'MemberInvocation':
    case 'FunctionInvocation':
      return invoke(node, self);
    case 'InvocationExpression':
      return invoke(second!, visit(first!, self));
    case 'IndexerExpression':
      visit(second!, self);
      return visit(first!, self);
    case 'TypeExpression':
      return visit(first!, self) && node.text === 'as';
    default: {
      const results = (node.children ?? []).map((child) => visit(child, self));
      return node.type === 'UnionExpression' && results.includes(true);
    }
  }
}

function invoke(node: SyntaxNode, from: boolean): boolean {
  const name = unquote(node.text ?? '');
  if (node.type === 'MemberInvocation') {
    // The name of a type tests the item itself.
    if (from && !KNOWN.has(name) && !/^[A-Z]/.test(name)) throw readsTarget(`.${name}`);
    return false;
  }
  if (node.type !== 'FunctionInvocation') return false;
  if (from && NAVIGATING.has(name)) throw readsTarget(`.${name}()`);
  const results = parametersOf(node).map((parameter) => visit(parameter, from));
  return name === 'resolve' || (from && KEEPING.has(name)) || (JOINING.has(name) && results.includes(true));
}

/** The elements of a target that its reference states. */
const KNOWN: ReadonlySet<string> = new Set(['resourceType', 'id']);
const NAVIGATING: ReadonlySet<string> = new Set(['extension', 'children', 'descendants']);
/** The functions whose results are items of their parameters. */
const JOINING: ReadonlySet<string> = new Set(['select', 'repeat', 'union', 'combine', 'iif', 'coalesce']);
/** The functions whose results are items of their input. */
const KEEPING: ReadonlySet<string> = new Set([
  ...['where', 'first', 'last', 'tail', 'single', 'skip', 'take', 'as', 'ofType', 'distinct', 'sort', 'trace'],
  ...['union', 'combine', 'intersect', 'exclude'],
]);

function readsTarget(rest: string): FhirError {
  return new FhirError(
    'unsupported',
    `the index of a resource cannot depend on other resources, but the expression reads "resolve()${rest.slice(0, 60)}"; search by a chain instead`,
  );
}
