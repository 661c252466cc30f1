import type { JsonObject } from '../../../fhir/resource.js';
import type { HostEdge } from '../../plan/plan.js';
import { fieldName, type HostFieldDefinition } from '../../schema/host/host-schema.js';
import type { HostFieldContext } from '../../schema/host/host-fields.js';
import { projectContained } from '../project.js';
import type { HostHole, Run, Waiting } from '../run.js';
import { coerceHostArguments } from './coerce-host-input.js';
import { completeHostValue } from './complete-host-value.js';
import { hostError, hostFault } from './host-leaf.js';
import { inSpan } from '../../../telemetry/observer.js';

/**
 * Fills host fields with the same arguments by one call of the resolver for all distinct parents of the level. Failures
 * affect the fields, not the request, except for limits.
 */
export async function fillHostFields(waiting: readonly Waiting<HostEdge, HostHole>[], run: Run): Promise<void> {
  try {
    const values = await resolveAll(waiting, run);
    for (const { edge, holes } of waiting) {
      for (const { out, parent, container } of holes) {
        const value = values.get(parent);
        completeHostValue(edge, value, out, container, run, projectContained);
      }
    }
  } catch (error) {
    for (const { edge, holes } of waiting) {
      for (const { out } of holes) {
        if (edge.field.type.kind === 'required') run.require(out, edge.key);
        run.fail(out, edge, error);
      }
    }
  }
}

/** The values by parent; the root is the parent `undefined`. */
async function resolveAll(
  waiting: readonly Waiting<HostEdge, HostHole>[],
  run: Run,
): Promise<ReadonlyMap<JsonObject | undefined, unknown>> {
  const [{ edge }] = waiting as readonly [Waiting<HostEdge, HostHole>];
  const { field } = edge;
  const { selections, variables } = run.options;
  const args = coerceHostArguments(selections.model, field.args, edge.args, variables);
  if (field.source === 'root') return new Map([[undefined, await callRoot(field, args, run)]]);
  const sources = [...new Set(waiting.flatMap(({ holes }) => holes.map(({ parent }) => parent!)))];
  const parents = sources.map((source) => parentOf(field, source));
  const resolve = field.call as (parents: readonly unknown[], args: object, context: HostFieldContext) => unknown;
  const values: unknown = await callResolver(field, parents.length, run, (context) =>
    settled(resolve(Object.freeze(parents), args, context)),
  );
  if (!Array.isArray(values)) throw hostFault(`${fieldName(field)}: resolve must return a list, a value per parent`);
  if (values.length !== parents.length) {
    throw hostFault(
      `${fieldName(field)}: resolve returned ${values.length} values for ${parents.length} parents; it must return one each`,
    );
  }
  return new Map(sources.map((source, index) => [source, values[index] as unknown]));
}

/** Calls a resolver of `Query` or `Mutation`. */
export function callRoot(field: HostFieldDefinition, args: object, run: Run): Promise<unknown> {
  const resolve = field.call as (args: object, context: HostFieldContext) => unknown;
  return callResolver(field, 1, run, (context) => resolve(args, context));
}

/** Waits for the values of a list, too, so that `parents.map(async …)` works as expected; each one can fail alone. */
async function settled(given: unknown): Promise<unknown> {
  const values: unknown = await given;
  if (!Array.isArray(values) || !values.some(isPromise)) return values;
  const results = await Promise.allSettled(values);
  return results.map((result) => (result.status === 'fulfilled' ? (result.value as unknown) : asError(result.reason)));
}

function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : hostError(reason);
}

/** The parent as the resolver receives it: never more than the caller sees, and frozen. */
function parentOf({ needs, on }: HostFieldDefinition, source: JsonObject): unknown {
  if (on === 'own') return source;
  if (needs === '*') return deepFreeze(source);
  const picked: { [name: string]: unknown } = {};
  for (const name of on === 'resource' ? ['resourceType', 'id', ...needs] : needs) {
    const value = source[name];
    if (value !== undefined) picked[name] = deepFreeze(value);
  }
  return Object.freeze(picked);
}

/** Stores return private copies, or deeply frozen objects. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/**
 * Calls a resolver of the host within its time, under the limits of the request and in a span of its own.
 *
 * @param parents their number
 * @param work the call, with the context that resolvers get
 * @throws FhirError `unavailable` - it exceeded its timeout
 * @throws FhirError the host's error, masked unless it is a `FhirError`
 * @throws LimitError `resolverCalls`, `cost`, `timeout`
 */
export async function callResolver<Result>(
  field: HostFieldDefinition,
  parents: number,
  run: Run,
  work: (context: HostFieldContext) => Result | Promise<Result>,
): Promise<Result> {
  run.spendResolver(parents, field.cost);
  const { caller } = run.options.store;
  const call = (signal: AbortSignal): Promise<Result> =>
    inSpan(run.options.observer, 'fhirgraph.field', async (span) => {
      span.setAttribute('fhirgraph.field', fieldName(field));
      span.setAttribute('fhirgraph.parents', parents);
      try {
        return await work({ caller, signal });
      } catch (error) {
        throw hostError(error);
      }
    });
  return run.deadline.lend(field.timeout, call);
}
