import { quote, shorten } from '../../fhir/messages.js';
import type { ParameterRow, SearchParameterType } from '../../fhir/model/definition-types.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import type { Position } from '../index/element-path.js';
import { valueIndexer } from '../index/index-values.js';
import { compileForComponent, compileForType, type CompiledExpression } from './compile-expression.js';
import type { DefinitionProblems } from './problems.js';
import type { SearchParameterSource } from './read-search-parameter.js';

/** Code and type of the parameter that defines a component; undefined if it is not known. */
export type FindDefinition = (
  url: string,
  resourceType: string,
) => { readonly code: string; readonly type: SearchParameterType } | undefined;

/** @returns the parameter as it applies to one type; undefined, with the problems noted, if it cannot be used there */
export function compileParameter(
  model: FhirModel,
  source: SearchParameterSource,
  type: string,
  findDefinition: FindDefinition,
  problems: DefinitionProblems,
): ParameterRow | undefined {
  const { place, subject, code, short, url } = source;
  const compiled = problems.attempt(`${place}.expression`, subject, () =>
    compileForType(model, type, source.expression),
  );
  if (compiled === undefined) return undefined;
  const before = problems.count;
  const { expression, path } = compiled;
  const row = {
    ...{ code, type: source.type, expression, short },
    ...(path === undefined ? {} : { path }),
    ...(url === undefined ? {} : { url }),
  };
  if (source.type === 'composite') {
    const components = compileComponents(model, source, type, compiled, findDefinition, problems);
    return components && { ...row, components };
  }
  assertIndexable(model, source.type, compiled, (message) =>
    problems.add(`${place}.expression`, `${subject}: ${message}`),
  );
  const unknown = source.targets?.find((target) => !model.isResourceType(target));
  if (unknown !== undefined) problems.add(`${place}.target`, `${subject} has unknown target type ${quote(unknown)}`);
  if (problems.count > before) return undefined;
  const targets = source.type === 'reference' ? targetTypes(source.targets, compiled) : undefined;
  return targets === undefined ? row : { ...row, targets };
}

function compileComponents(
  model: FhirModel,
  { place, subject, components }: SearchParameterSource,
  type: string,
  { reached }: CompiledExpression,
  findDefinition: FindDefinition,
  problems: DefinitionProblems,
): ParameterRow['components'] {
  if (reached === undefined) {
    const message = `${subject}: the expression of a composite must be a path, because its components begin where it ends`;
    problems.add(`${place}.expression`, message, 'not-supported');
    return undefined;
  }
  const from = [...new Set(reached.map((position) => position.type))];
  const compiled = components.map(({ definition, expression: text }, index) => {
    const at = `${place}.component[${index}]`;
    const part = problems.attempt(`${at}.expression`, subject, () => compileForComponent(model, from, text));
    if (part === undefined) return undefined;
    const known = findDefinition(definition, type) ?? inferredDefinition(text, part);
    if (known === undefined || !COMPONENT_TYPES.has(known.type)) {
      const message = `${subject}: component ${quote(definition, 120)} is not a known parameter of a single value; give its definition along`;
      problems.add(`${at}.definition`, message);
      return undefined;
    }
    const before = problems.count;
    assertIndexable(model, known.type, part, (message) => problems.add(`${at}.expression`, `${subject}: ${message}`));
    if (problems.count > before) return undefined;
    const { expression, path } = part;
    return { ...known, expression, ...(path === undefined ? {} : { path }) };
  });
  return compiled.every((component) => component !== undefined) ? compiled : undefined;
}

/** Reports a parameter whose index can never contain a value. */
function assertIndexable(
  model: FhirModel,
  parameterType: SearchParameterType,
  { reached, path }: CompiledExpression,
  report: (message: string) => void,
): void {
  if (path?.some((steps) => steps.length === 0)) report('the expression leads to the resource itself, not to a value');
  else if (reached?.some((position) => isIndexable(model, parameterType, position)) === false) {
    const types = shorten([...new Set(reached.map(({ type }) => type))].join(', '), 120);
    report(`a parameter of type ${parameterType} cannot hold values of type ${types}`);
  }
}

function isIndexable(model: FhirModel, parameterType: SearchParameterType, { type, element }: Position): boolean {
  // The indexers of these parameter types accept any type, and index only strings.
  if (parameterType === 'uri') return isText(model, type);
  if (parameterType === 'string') return isText(model, type) || type === 'HumanName' || type === 'Address';
  return valueIndexer(model, parameterType, type, element) !== undefined;
}

const NO_TEXTS: ReadonlySet<string> = new Set(['boolean', 'integer', 'positiveInt', 'unsignedInt', 'decimal']);

function isText(model: FhirModel, type: string): boolean {
  return model.typeDefinition(type)?.kind === 'primitive' && !NO_TEXTS.has(type);
}

const COMPONENT_TYPES: ReadonlySet<SearchParameterType> = new Set([
  ...(['string', 'token', 'date', 'number', 'quantity', 'reference', 'uri'] as const),
]);

/** The definition of a component without one of its own: from the type of its values, if all have the same. */
function inferredDefinition(
  expression: string,
  { reached = [] }: CompiledExpression,
): { readonly code: string; readonly type: SearchParameterType } | undefined {
  const types = new Set(reached.map(({ type }) => TYPE_OF_VALUES.get(type)));
  const [type] = types;
  return type === undefined || types.size > 1 ? undefined : { code: expression, type };
}

const TYPE_OF_VALUES: ReadonlyMap<string, SearchParameterType> = new Map<string, SearchParameterType>([
  ...['CodeableConcept', 'Coding', 'Identifier', 'code', 'boolean'].map((type) => [type, 'token'] as const),
  ...['date', 'dateTime', 'instant', 'Period'].map((type) => [type, 'date'] as const),
  ...['integer', 'positiveInt', 'unsignedInt', 'decimal'].map((type) => [type, 'number'] as const),
  ...['Quantity', 'Age', 'Duration', 'Count', 'Distance', 'Money'].map((type) => [type, 'quantity'] as const),
  ...['string', 'markdown', 'HumanName', 'Address'].map((type) => [type, 'string'] as const),
  ...['uri', 'url'].map((type) => [type, 'uri'] as const),
  ['Reference', 'reference'],
]);

/** A list of more types than this means every type. */
const MAX_STATED = 100;

/**
 * The types that a reference parameter can point to: those that it states and its elements allow; undefined for any
 * type.
 */
function targetTypes(
  stated: readonly string[] | undefined,
  compiled: CompiledExpression,
): readonly string[] | undefined {
  const named = stated === undefined || stated.length === 0 || stated.length > MAX_STATED ? undefined : stated;
  const allowed = allowedTypes(compiled);
  if (named === undefined || allowed === undefined) return named ?? allowed;
  const both = named.filter((type) => allowed.includes(type));
  return both.length > 0 ? both : allowed;
}

function allowedTypes({ path, reached }: CompiledExpression): readonly string[] | undefined {
  if (path === undefined || reached === undefined) return undefined;
  const ends = path.map((steps) => {
    const last = steps.at(-1);
    return typeof last === 'object' && 'resolvesTo' in last ? last.resolvesTo : undefined;
  });
  if (ends.every((end) => end !== undefined)) return [...new Set(ends)];
  const lists = reached.flatMap(({ type, element }) =>
    type === 'Reference' || type === 'canonical'
      ? [element?.targets]
      : type === 'uri' || type === 'Resource'
        ? [undefined]
        : [],
  );
  return lists.length > 0 && lists.every((list) => list !== undefined) ? [...new Set(lists.flat())] : undefined;
}
