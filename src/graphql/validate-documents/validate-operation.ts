import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { FhirError, type ErrorCode } from '../../fhir/error.js';
import { coerceRequestVariables } from '../coerce-variables.js';
import { documentError } from '../execute/response-errors.js';
import { tooManyCalls } from '../execute/spending.js';
import { assertFewWrites } from '../execute/write-fields.js';
import { Kind, visit, type OperationDefinitionNode } from '../graphql-js.js';
import { tooCostly, wholeCost, type Limits } from '../limits.js';
import type { Variables } from '../plan/arguments.js';
import { CALL_COST, estimateCost, leastCost } from '../plan/estimate-cost.js';
import type { Location } from '../plan/plan.js';
import { makePlan } from '../plan/plan-cache.js';
import type { PreparedDocument } from '../prepared-document.js';
import { assertAffordableMutation } from '../request-cost.js';
import { QUERY } from '../schema/fields.js';
import { checkArguments } from './check-arguments.js';

/** A valid operation and its cost. */
export interface ValidatedOperation {
  /** The id in the manifest; absent for a document passed alone. */
  readonly document?: string;
  readonly name?: string;
  readonly operation: 'query' | 'mutation' | 'subscription';
  /** Deepest nesting of selections. */
  readonly depth: number;
  /** The cost over an empty store. The unit is one resource with few fields. */
  readonly leastCost: number;
  /** The cost with assumed counts where neither the document nor the variables give one. */
  readonly estimatedCost: number;
}

/** An error of one operation. */
interface OperationFinding {
  readonly code: ErrorCode;
  readonly message: string;
  readonly locations?: readonly Location[];
}

export interface OperationSettings {
  readonly model: FhirModel;
  readonly limits: Limits;
  /** Examples of variables. */
  readonly variables: Variables;
  readonly maxEstimatedCost: number | undefined;
}

export async function validateOperation(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
  settings: OperationSettings,
): Promise<{
  readonly name: string | undefined;
  readonly errors: readonly OperationFinding[];
  readonly operation: ValidatedOperation | undefined;
}> {
  const name = operation.name?.value;
  const kind = operation.operation;
  if (kind !== 'query' && document.root !== QUERY) {
    return {
      name,
      operation: undefined,
      errors: [unsupported(`A ${kind} is about the whole service, not one instance`)],
    };
  }
  const { values, errors } = await knownVariables(document, operation, settings.variables);
  try {
    const plans = conditionsOf(document).map((conditions) =>
      validatePlan(document, operation, { ...values, ...conditions }, values, settings),
    );
    const found = [...errors, ...plans.flatMap((plan) => plan.errors)];
    const most = (cost: 'depth' | 'leastCost' | 'estimatedCost'): number =>
      Math.max(...plans.map((plan) => plan[cost]));
    const facts = { depth: most('depth'), leastCost: most('leastCost'), estimatedCost: most('estimatedCost') };
    return {
      name,
      errors: [...new Map(found.map((finding) => [JSON.stringify(finding), finding])).values()],
      operation: { ...(name === undefined ? {} : { name }), operation: kind, ...facts },
    };
  } catch (error) {
    return { name, errors: [...errors, finding(error)], operation: undefined };
  }
}

interface PlanFacts extends Pick<ValidatedOperation, 'depth' | 'leastCost' | 'estimatedCost'> {
  readonly errors: readonly OperationFinding[];
}

/** @throws LimitError `fields`, `depth` */
function validatePlan(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
  conditions: Variables,
  variables: Variables,
  { model, limits, maxEstimatedCost }: OperationSettings,
): PlanFacts {
  const { plan, selections } = makePlan(document, operation, conditions, limits);
  const isInstance = document.root !== QUERY;
  const least = leastCost(plan, isInstance);
  const estimated = wholeCost(estimateCost(plan, variables, isInstance));
  const errors: OperationFinding[] = checkArguments(plan.root, { model, limits, variables, selections }).map(
    ({ error, location }) => finding(error, location),
  );
  if (least / CALL_COST > limits.storeCalls) errors.push(finding(tooManyCalls(limits)));
  if (least > limits.cost) errors.push(finding(tooCostly(limits, least)));
  if (operation.operation === 'mutation') {
    const writes = plan.root.fields.filter(({ kind }) => kind === 'write').length;
    for (const check of [() => assertFewWrites(writes, limits), () => assertAffordableMutation(estimated, limits)]) {
      try {
        check();
      } catch (error) {
        errors.push(finding(error));
      }
    }
  }
  if (maxEstimatedCost !== undefined && estimated > maxEstimatedCost) {
    errors.push({
      code: 'too-costly',
      message: `The operation is estimated to cost ${estimated} (about as many resources); the limit is ${maxEstimatedCost} (maxEstimatedCost): page its lists with _count, nest fewer of them, or split it`,
    });
  }
  return { errors, depth: plan.depth, leastCost: least, estimatedCost: estimated };
}

/** Variables with a default or an example. */
async function knownVariables(
  document: PreparedDocument,
  { variableDefinitions = [] }: OperationDefinitionNode,
  examples: Variables,
): Promise<{ readonly values: Variables; readonly errors: readonly OperationFinding[] }> {
  const known = variableDefinitions.filter(
    ({ variable, defaultValue }) => defaultValue !== undefined || Object.hasOwn(examples, variable.name.value),
  );
  const coerced = await coerceRequestVariables(document, known, examples);
  if (coerced.errors === undefined) return { values: coerced.values, errors: [] };
  const errors = coerced.errors.map(documentError);
  return { values: {}, errors: errors.map(({ message, locations }) => invalid(message, locations)) };
}

/**
 * The truth of the variables in `@skip` and `@include` for which an operation is planned: the one that selects most.
 * Variables in both directives are planned with both truths.
 */
function conditionsOf({ operations, fragments, conditions }: PreparedDocument): readonly Variables[] {
  const named = { include: new Set<string>(), skip: new Set<string>() };
  for (const definition of [...operations, ...fragments.values()]) {
    visit(definition, {
      Directive: ({ name, arguments: args = [] }) => {
        const names = name.value === 'include' ? named.include : name.value === 'skip' ? named.skip : undefined;
        for (const { value } of args) if (value.kind === Kind.VARIABLE) names?.add(value.name.value);
      },
    });
  }
  const truth = (both: boolean): Variables =>
    Object.fromEntries(conditions.map((name) => [name, named.include.has(name) && (both || !named.skip.has(name))]));
  const isMixed = conditions.some((name) => named.include.has(name) && named.skip.has(name));
  return isMixed ? [truth(true), truth(false)] : [truth(true)];
}

function finding(error: unknown, location?: Location): OperationFinding {
  // A failure of this library is not an error of the document.
  if (!(error instanceof FhirError) || error.code === 'internal') throw error;
  return { code: error.code, message: error.message, ...(location === undefined ? {} : { locations: [location] }) };
}

function invalid(message: string, locations: OperationFinding['locations']): OperationFinding {
  return { code: 'invalid', message, ...(locations === undefined ? {} : { locations }) };
}

function unsupported(message: string): OperationFinding {
  return { code: 'unsupported', message };
}
