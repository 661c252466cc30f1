import { LRUCache } from 'lru-cache';
import { inSpan, type Observer } from '../telemetry/observer.js';
import { countLookup } from './count-lookup.js';
import type { OperationDefinitionNode } from './graphql-js.js';
import type { Limits } from './limits.js';
import type { PreparedDocument } from './prepared-document.js';
import { MUTATION } from './schema/fields.js';
import type { DocumentParts } from './plan/collect-fields.js';
import { planOperation, type LateSelection } from './plan/plan-operation.js';
import type { OperationPlan } from './plan/plan.js';
import { TypedSelections } from './plan/typed-selections.js';

/** A plan, and its selections on resources of any type. */
export interface PlannedOperation {
  readonly plan: OperationPlan;
  readonly selections: TypedSelections;
}

/**
 * Plans by document, operation, truth of conditions and limits, weighed by their number of selections. With its
 * projector a selection takes about 300 bytes, so all plans take at most 15 MB.
 */
const PLANS = new LRUCache<string, OperationPlan>({
  max: 1000,
  maxSize: 50_000,
  sizeCalculation: ({ size }) => size + 1,
});

/** Selections planned at run time, weighed the same way: at most 6 MB. */
const LATE_SELECTIONS = new LRUCache<string, LateSelection>({
  max: 5000,
  maxSize: 20_000,
  sizeCalculation: ({ size }) => size + 1,
});

/**
 * The plan of one operation for the given truth of its `@skip` and `@include` variables, made at first use.
 *
 * @throws LimitError `fields`, `depth`
 */
export function planFor(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
  variables: { readonly [name: string]: unknown },
  limits: Limits,
  observer?: Observer,
): PlannedOperation {
  const parts = partsOf(document, variables);
  // Plans depend on their limits, so other limits have other plans.
  const { number, conditions } = document;
  const truths = conditions.length === 0 ? '' : conditions.map((name) => Number(parts.conditions.has(name))).join('');
  const key = `${number} ${operation.name?.value ?? ''} ${truths} ${limits.depth} ${limits.fields}`;
  let plan = PLANS.get(key);
  countLookup(observer, 'plans', plan !== undefined);
  if (plan === undefined) {
    const root = rootOf(document, operation);
    plan = inSpan(observer, 'fhirgraph.plan', () => planOperation(operation, root, parts, limits));
    PLANS.set(key, plan);
  }
  return { plan, selections: new TypedSelections(plan, parts, limits, key, LATE_SELECTIONS) };
}

/**
 * {@link planFor} without the cache.
 *
 * @throws LimitError `fields`, `depth`
 */
export function makePlan(
  document: PreparedDocument,
  operation: OperationDefinitionNode,
  variables: { readonly [name: string]: unknown },
  limits: Limits,
): PlannedOperation {
  const parts = partsOf(document, variables);
  const plan = planOperation(operation, rootOf(document, operation), parts, limits);
  return { plan, selections: new TypedSelections(plan, parts, limits, '') };
}

/** The parts of a document needed for planning and introspection. */
export function partsOf(
  { model, dialect, fragments, conditions }: PreparedDocument,
  variables: { readonly [name: string]: unknown },
): DocumentParts {
  return {
    model,
    merge: dialect === 'standard',
    fragments,
    conditions:
      conditions.length === 0 ? NO_CONDITIONS : new Set(conditions.filter((name) => variables[name] === true)),
  };
}

const NO_CONDITIONS: ReadonlySet<string> = new Set();

function rootOf({ root }: PreparedDocument, { operation }: OperationDefinitionNode): string {
  return operation === 'mutation' ? MUTATION : root;
}
