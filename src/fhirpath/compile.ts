import type { Options } from 'fhirpath';
import { LRUCache } from 'lru-cache';
import type { Container } from '../fhir/container.js';
import { FhirError } from '../fhir/error.js';
import { type FhirModel, perModel } from '../fhir/model/fhir-model.js';
import { isJsonObject } from '../fhir/resource.js';
import { checkExpression, type ExpressionNeeds } from './check-expression.js';
import { assertAvailable, COLLECTION_FUNCTIONS, Resolution, RESOLUTION } from './collection-functions.js';
import { fhirPathLibrary, fhirPathModel } from './library.js';
import { compileNative } from './native/compile-node.js';
import { StepBudget, type StepMeter, tooCostly } from './step-budget.js';
import { countNodes, parseFhirPath } from './syntax-tree.js';
import { BUDGET, TEXT_FUNCTIONS } from './text-functions.js';

/** Values of `%variables` by name, without the percent sign. */
type FhirPathEnvironment = { readonly [name: string]: unknown };

/** A compiled expression: the items of its result as plain JSON values. The input is not changed. */
export type CompiledFhirPath = (
  input: unknown,
  environment?: FhirPathEnvironment,
  meter?: StepMeter,
  /** The resource in which `resolve()` finds contained resources and entries. */
  container?: Container,
) => unknown[];

/** An item of a result with its FHIR type: `Quantity`, `boolean`. */
export interface TypedValue {
  readonly type: string;
  readonly value: unknown;
}

/**
 * Compiles a FHIRPath expression; the last 500 are kept.
 *
 * @param baseType type of an input that is not a resource: `HumanName`, `PatientContact`, `date`. Resource types are
 * allowed too and let common expressions run without fhirpath.js.
 * @returns a function that throws, in addition to the errors below, FhirError `invalid` for a variable missing from the
 * environment or data of the wrong type for an operator, and `too-costly` for unbounded work. Messages never contain
 * data. `%resource` defaults to the input itself.
 * @throws FhirError `invalid` - a syntax error, an unknown function or type.
 * @throws FhirError `unsupported` - a function that needs a terminology server, the network or the log.
 * @throws FhirError `too-costly` - longer than 4096 characters or nested deeper than 40 levels.
 *
 * @example
 * compileFhirPath("name.where(use = 'official').given.first()", 'Patient')(patient) // ['Ann']
 */
export function compileFhirPath(model: FhirModel, expression: string, baseType?: string): CompiledFhirPath {
  return compiled(model, expression, baseType).values;
}

/**
 * Parses an expression and checks it, without a compiled form.
 *
 * @param variables names that the environment will have, in addition to `resource`, `rootResource` and those that FHIR
 * fixes
 * @throws FhirError as {@link compileFhirPath}; also `invalid` for any other variable
 */
export function assertFhirPath(model: FhirModel, expression: string, variables: readonly string[]): void {
  const environment = Object.fromEntries(variables.map((name) => [name, []]));
  variablesFor(checkExpression(model, parseFhirPath(expression)), { resourceType: '' }, environment);
}

/** As {@link compileFhirPath}, with the type of each item. */
export function compileTypedFhirPath(
  model: FhirModel,
  expression: string,
  baseType?: string,
): (input: unknown, environment?: FhirPathEnvironment) => TypedValue[] {
  return compiled(model, expression, baseType).typedValues;
}

interface Compiled {
  readonly values: CompiledFhirPath;
  readonly typedValues: (input: unknown, environment?: FhirPathEnvironment) => TypedValue[];
}

// The results are immutable and shared by all callers.
const COMPILED = perModel(() => new LRUCache<string, Compiled>({ max: 500 }));

function compiled(model: FhirModel, expression: string, baseType: string | undefined): Compiled {
  const key = `${baseType ?? ''} ${expression}`;
  const cache = COMPILED(model);
  let found = cache.get(key);
  if (found === undefined) {
    found = compile(model, expression, baseType);
    cache.set(key, found);
  }
  return found;
}

function compile(model: FhirModel, expression: string, baseType: string | undefined): Compiled {
  const tree = parseFhirPath(expression);
  const needs = checkExpression(model, tree);
  const native = baseType === undefined ? undefined : compileNative(model, tree, baseType);
  // Parsing the expression again is most of the work of fhirpath.js, and unnecessary when a native form exists.
  let byLibrary = native === undefined ? compileByLibrary(model, expression, baseType, needs) : undefined;
  const evaluate: LibraryEvaluation = (...given) =>
    (byLibrary ??= compileByLibrary(model, expression, baseType, needs))(...given);
  const nodes = native === undefined ? 0 : countNodes(tree);
  return {
    values: (input, environment, meter, container) => {
      meter?.spend(0);
      const budget = new StepBudget(needs.hasUnion);
      try {
        const items = native?.(input, budget);
        if (items === undefined) return evaluate(input, budget, environment, container).flatMap(plainValue);
        budget.spend(nodes + items.length);
        return [...items];
      } finally {
        meter?.spend(budget.spent);
      }
    },
    typedValues: (input, environment) =>
      evaluate(input, new StepBudget(needs.hasUnion), environment).flatMap(typedValue),
  };
}

type LibraryEvaluation = (
  input: unknown,
  budget: StepBudget,
  environment?: FhirPathEnvironment,
  container?: Container,
) => unknown[];

const OPTIONS = {
  // Prevents fhirpath.js from adding hidden properties to the input.
  resolveInternalTypes: false,
  userInvocationTable: { ...TEXT_FUNCTIONS, ...COLLECTION_FUNCTIONS },
} as unknown as Options & { async?: false };

function compileByLibrary(
  model: FhirModel,
  expression: string,
  baseType: string | undefined,
  needs: ExpressionNeeds,
): LibraryEvaluation {
  const base = baseType === undefined ? undefined : libraryBase(model, baseType);
  const run = fhirPathLibrary().compile(
    base === undefined ? expression : { base, expression },
    fhirPathModel(model),
    OPTIONS,
  );
  return (input, budget, environment, container) => {
    const variables = Object.assign(variablesFor(needs, input, environment), {
      [BUDGET]: budget,
      [RESOLUTION]: container === undefined || !needs.resolves ? undefined : new Resolution(container),
    });
    try {
      return run(input, variables, {
        debugger: (_, focus, result, node) => {
          budget.charge(focus, result, node);
          if (needs.resolves) assertAvailable(focus, node, container !== undefined);
        },
      }) as unknown[];
    } catch (error) {
      throw evaluationError(error);
    }
  };
}

/** The type name that fhirpath.js uses for an input; undefined for resources, which carry their type. */
function libraryBase(model: FhirModel, type: string): string | undefined {
  if (model.isResourceType(type)) return undefined;
  const definition = model.typeDefinition(type);
  if (definition === undefined)
    throw new FhirError('invalid', `Unknown type of a FHIRPath input: ${type.slice(0, 60)}`);
  return definition.path ?? type;
}

/** Variables with fixed values. See https://hl7.org/fhir/R4/fhirpath.html#variables. */
const FIXED_VARIABLES: ReadonlyMap<string, string> = new Map([
  ['sct', 'http://snomed.info/sct'],
  ['loinc', 'http://loinc.org'],
]);

function variablesFor(
  needs: ExpressionNeeds,
  input: unknown,
  environment: FhirPathEnvironment = {},
): Record<string, unknown> {
  // Without a prototype, so that %constructor is not a variable.
  const variables = Object.create(null) as Record<string, unknown>;
  for (const name of needs.variables) {
    if (name === 'context' || name === 'ucum') continue;
    const value = variableValue(name, input, environment);
    if (value === undefined) throw new FhirError('invalid', `Unknown FHIRPath variable: %${name.slice(0, 60)}`);
    variables[name] = value;
  }
  return variables;
}

function variableValue(name: string, input: unknown, environment: FhirPathEnvironment): unknown {
  // A variable with an undefined value exists and is empty.
  if (Object.hasOwn(environment, name)) return environment[name] ?? [];
  if (FIXED_VARIABLES.has(name)) return FIXED_VARIABLES.get(name);
  if (name.startsWith('vs-')) return `http://hl7.org/fhir/ValueSet/${name.slice(3)}`;
  if (name.startsWith('ext-')) return `http://hl7.org/fhir/StructureDefinition/${name.slice(4)}`;
  if (name === 'rootResource' && Object.hasOwn(environment, 'resource')) return environment.resource ?? [];
  const isResource = isJsonObject(input) && typeof input.resourceType === 'string';
  return isResource && (name === 'resource' || name === 'rootResource') ? input : undefined;
}

/** Messages of fhirpath.js quote data, so they are kept in the cause only. */
function evaluationError(error: unknown): FhirError {
  if (error instanceof FhirError) return error;
  if (error instanceof RangeError) return tooCostly(error);
  return new FhirError(
    'invalid',
    'The FHIRPath expression does not fit the data: an operator or function got several items, or one of a type that it does not take',
    { cause: error },
  );
}

/** Returns an empty list for an element that has extensions only. */
function plainValue(item: unknown): unknown[] {
  const value: unknown = fhirPathLibrary().util.valData(item);
  if (value === null || value === undefined) return [];
  if (typeof value === 'bigint') return [Number(value)];
  const isLibraryType = typeof value === 'object' && typeof (value as { toJSON?: unknown }).toJSON === 'function';
  return [isLibraryType ? (value as { toJSON(): unknown }).toJSON() : value];
}

function typedValue(item: unknown): TypedValue[] {
  const [type = ''] = fhirPathLibrary().types([item]);
  const name = type.slice(type.indexOf('.') + 1);
  return plainValue(item).map((value) => ({
    type: type.startsWith('System.') ? name[0]!.toLowerCase() + name.slice(1) : name,
    value,
  }));
}

/** The context of a filter, in addition to the item. */
interface FilterContext {
  /** The resource that contains the item, `%resource` in the expression. */
  readonly resource: unknown;
  /** The place of the item, in which `resolve()` finds contained resources and entries. */
  readonly container?: Container | undefined;
  /** Records the work done. */
  readonly meter?: StepMeter | undefined;
}

/** Returns whether to keep an item. */
type FhirPathFilter = (item: unknown, context: FilterContext) => boolean;

/**
 * Compiles the `fhirpath` argument of FHIR GraphQL: keeps the items for which the expression returns exactly `true`.
 * See https://hl7.org/fhir/R4/graphql.html#list.
 *
 * @param type FHIR type of the items.
 * @throws FhirError as {@link compileFhirPath}; so does the filter.
 */
export function fhirpathFilter(model: FhirModel, expression: string, type: string): FhirPathFilter {
  const evaluate = compileFhirPath(model, expression, type);
  return (item, { resource, container, meter }) => {
    const result = evaluate(item, { resource, rootResource: resource }, meter, container);
    return result.length === 1 && result[0] === true;
  };
}
