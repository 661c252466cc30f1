import { FhirError } from '../fhir/error.js';
import { shorten } from '../fhir/messages.js';
import type { FhirModel } from '../fhir/model/fhir-model.js';
import { parametersOf, type SyntaxNode, unquote, unwrap } from './syntax-tree.js';

/** The needs of the evaluation of an expression. */
export interface ExpressionNeeds {
  /** Names of the `%variables` that the expression does not define itself. */
  readonly variables: ReadonlySet<string>;
  /** Whether the expression contains `|`. */
  readonly hasUnion: boolean;
  /** Whether it follows references. */
  readonly resolves: boolean;
}

/**
 * Checks before the first evaluation that an expression uses only existing, safe names: functions and types of
 * FHIRPath, no element names that reach JavaScript's own properties, no network access.
 *
 * @throws FhirError `invalid` - an unknown function, type or element, a wrong number of parameters.
 * @throws FhirError `unsupported` - a function or variable that needs network access.
 */
export function checkExpression(model: FhirModel, root: SyntaxNode): ExpressionNeeds {
  const used = new Set<string>();
  const defined = new Set<string>();
  let hasUnion = false;
  let resolves = false;
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    checkNode(model, node, used, defined);
    hasUnion ||= node.type === 'UnionExpression';
    resolves ||= node.type === 'FunctionInvocation' && unquote(node.text ?? '') === 'resolve';
    for (const child of node.children ?? []) pending.push(child);
  }
  return { variables: new Set([...used].filter((name) => !defined.has(name))), hasUnion, resolves };
}

function checkNode(model: FhirModel, node: SyntaxNode, used: Set<string>, defined: Set<string>): void {
  switch (node.type) {
    case 'FunctionInvocation':
      checkFunction(model, node, defined);
      break;
    case 'MemberInvocation':
      checkElementName(unquote(node.text ?? ''));
      break;
    case 'TypeSpecifier':
      checkTypeName(model, node.text ?? '');
      break;
    case 'ExternalConstantTerm':
      used.add(checkVariable(unquote(node.delimitedText ?? node.text ?? '')));
      break;
    case 'InstanceSelectorTerm':
    case 'InstanceSelector':
      throw new FhirError('unsupported', 'FHIRPath cannot make new elements here (Type { … }); select existing ones');
  }
}

function checkFunction(model: FhirModel, node: SyntaxNode, defined: Set<string>): void {
  const name = unquote(node.text ?? '');
  const reason = REFUSED_FUNCTIONS.get(name);
  if (reason !== undefined) {
    throw new FhirError('unsupported', `The FHIRPath function ${name}() is not supported: ${reason}`);
  }
  const arity = FUNCTIONS.get(name);
  if (arity === undefined) throw new FhirError('invalid', `Unknown FHIRPath function: ${shorten(name, 60)}()`);
  const parameters = parametersOf(node);
  const [fewest, most] = arity;
  if (parameters.length < fewest || parameters.length > most) {
    const expected = fewest === most ? `${fewest}` : `${fewest} to ${most}`;
    throw new FhirError(
      'invalid',
      `The FHIRPath function ${name}() takes ${expected} parameters, not ${parameters.length}`,
    );
  }
  if (name === 'is' || name === 'as' || name === 'ofType') checkTypeName(model, typeNameOf(parameters[0]!));
  if (name === 'defineVariable') defined.add(variableName(parameters[0]!));
}

function checkElementName(name: string): void {
  if (name in Object.prototype) {
    throw new FhirError('invalid', `No FHIR element has the name "${name}"`);
  }
}

function checkTypeName(model: FhirModel, text: string): void {
  const parts = text.split('.').map(unquote);
  const [name, namespace] = [parts.pop() ?? '', parts.join('.')];
  const isKnown =
    (namespace !== 'FHIR' && SYSTEM_TYPES.has(name)) ||
    (namespace !== 'System' && model.typeDefinition(name) !== undefined);
  if (!isKnown || !['', 'FHIR', 'System'].includes(namespace)) {
    throw new FhirError('invalid', `Unknown type in a FHIRPath expression: ${shorten(text, 60)}`);
  }
}

const SYSTEM_TYPES: ReadonlySet<string> = new Set([
  ...['Boolean', 'String', 'Integer', 'Long', 'Decimal', 'Date', 'DateTime', 'Time', 'Quantity'],
]);

function typeNameOf(parameter: SyntaxNode): string {
  const inner = unwrap(parameter);
  if (parameter.text !== undefined) return parameter.text;
  return inner.text ?? '';
}

/** Variables through which fhirpath.js accesses the network. */
const REFUSED_VARIABLES: ReadonlySet<string> = new Set(['terminologies', 'factory', 'fhirServerUrl']);

function checkVariable(name: string): string {
  if (REFUSED_VARIABLES.has(name)) {
    throw new FhirError('unsupported', `The FHIRPath variable %${name} is not supported: it would reach outside`);
  }
  return name;
}

function variableName(parameter: SyntaxNode): string {
  const literal = unwrap(parameter);
  if (literal.type !== 'StringLiteral') {
    throw new FhirError('unsupported', 'The FHIRPath function defineVariable() takes the name as a string in quotes');
  }
  return unquote(literal.text ?? '');
}

type Arity = readonly [fewest: number, most: number];

/** The allowed functions with their minimum and maximum number of parameters. See https://hl7.org/fhirpath/N1/. */
const FUNCTIONS: ReadonlyMap<string, Arity> = new Map<string, Arity>([
  ...entries([0, 0], [
    ...['abs', 'allFalse', 'allTrue', 'anyFalse', 'anyTrue', 'avg', 'ceiling', 'children', 'convertsToBoolean'],
    ...['convertsToDate', 'convertsToDateTime', 'convertsToDecimal', 'convertsToInteger', 'convertsToLong'],
    ...['convertsToQuantity', 'convertsToString', 'convertsToTime', 'count', 'dateOf', 'dayOf', 'descendants'],
    ...['distinct', 'empty', 'exp', 'first', 'floor', 'getValue', 'hasValue', 'hourOf', 'isDistinct', 'last', 'length'],
    ...['ln', 'lower', 'max', 'millisecondOf', 'min', 'minuteOf', 'monthOf', 'not', 'now', 'resolve', 'secondOf'],
    ...['single', 'sqrt', 'sum', 'tail', 'timeOf', 'timeOfDay', 'timezoneOffsetOf', 'toBoolean', 'toChars', 'toDate'],
    ...['toDateTime', 'toDecimal', 'toInteger', 'toLong', 'toString', 'toTime', 'today', 'trim', 'truncate', 'type'],
    ...['upper', 'yearOf'],
  ]),
  ...entries([0, 1], ['exists', 'highBoundary', 'join', 'lowBoundary', 'round', 'toQuantity']),
  ...entries([1, 1], [
    ...['all', 'as', 'combine', 'comparable', 'contains', 'decode', 'encode', 'endsWith', 'escape', 'exclude'],
    ...['extension', 'indexOf', 'intersect', 'is', 'lastIndexOf', 'log', 'ofType', 'power', 'repeat', 'select', 'skip'],
    ...['split', 'startsWith', 'subsetOf', 'supersetOf', 'take', 'unescape', 'union', 'where'],
  ]),
  ...entries([1, 2], ['aggregate', 'defineVariable', 'matches', 'matchesFull', 'substring']),
  ...entries([2, 2], ['replace', 'replaceMatches']),
  ...entries([2, 3], ['iif']),
  ...entries([1, 16], ['coalesce']),
  ...entries([0, 16], ['sort']),
]); // prettier-ignore

/** Functions that exist but are not supported, with the reason. */
const REFUSED_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ...entries('it needs a terminology server', ['memberOf', 'subsumes', 'subsumedBy', 'weight', 'ordinal']),
  ...entries('it needs profiles', ['conformsTo', 'elementDefinition', 'slice', 'checkModifiers']),
  ...entries('it writes to the log', ['trace']),
  ...entries('it is for invariants of narratives', ['htmlChecks', 'htmlchecks']),
  ...entries('it is not part of FHIRPath', ['pathname']),
]);

function entries<const Value>(value: Value, names: readonly string[]): [string, Value][] {
  return names.map((name) => [name, value]);
}
