import { LRUCache } from 'lru-cache';
import { inSpan, type Observer } from '../../telemetry/observer.js';
import type { OperationDefinitionNode } from '../graphql-js.js';
import { type Limits, tooManyFields } from '../limits.js';
import type { PreparedDocument } from '../prepared-document.js';
import { MUTATION, SUBSCRIPTIONS } from '../schema/fields.js';
import type { DocumentParts } from './collect-fields.js';
import { planOperation, type LateSelection, planLateSelection } from './plan-operation.js';
import type { OperationPlan, AnyTypeSelection, Selection } from './plan.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';

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
  observer?.instruments?.lookups.add(1, { 'fhirgraph.cache': 'plans', 'fhirgraph.hit': plan !== undefined });
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
  return operation === 'mutation' ? MUTATION : operation === 'subscription' ? SUBSCRIPTIONS : root;
}

/** Late selections by plan, place and type. */
type LateSelectionCache = LRUCache<string, LateSelection>;

/**
 * The selections of one execution on resources of unknown type, by type.
 *
 * Types named in fragments come from the plan. Other types are planned when first found, cached for other executions of
 * the plan, and counted against this execution's limit `fields`.
 */
export class TypedSelections {
  readonly #late = new Map<AnyTypeSelection, Map<string, Selection>>();
  #opened: number;

  /**
   * @param planKey the key of the plan in the cache
   * @param cache undefined: no caching across executions
   */
  constructor(
    { size }: OperationPlan,
    private readonly parts: DocumentParts,
    private readonly limits: Limits,
    private readonly planKey: string,
    private readonly cache?: LateSelectionCache,
  ) {
    this.#opened = size;
  }

  /** The definitions that the plan was made with. */
  get model(): FhirModel {
    return this.parts.model;
  }

  /**
   * The selection on resources of this type, cached.
   *
   * @throws LimitError `fields`, `depth`
   */
  forType(place: AnyTypeSelection, type: string): Selection {
    if (Object.hasOwn(place.named, type)) return place.named[type]!;
    let byType = this.#late.get(place);
    if (byType === undefined) this.#late.set(place, (byType = new Map<string, Selection>()));
    let selection = byType.get(type);
    if (selection === undefined) byType.set(type, (selection = this.#planLate(place, type)));
    return selection;
  }

  /** {@link forType} if it was planned before, by this execution or another. */
  plannedFor(place: AnyTypeSelection, type: string): Selection | undefined {
    if (Object.hasOwn(place.named, type)) return place.named[type];
    return this.#late.get(place)?.get(type) ?? this.cache?.peek(this.#lateKey(place, type))?.selection;
  }

  #lateKey({ path }: AnyTypeSelection, type: string): string {
    return `${this.planKey}\n${path}\n${type}`;
  }

  #planLate(place: AnyTypeSelection, type: string): Selection {
    const key = this.#lateKey(place, type);
    let late = this.cache?.get(key);
    if (late === undefined) {
      late = planLateSelection(place, type, this.parts, this.limits, this.#opened);
      this.cache?.set(key, late);
    }
    this.#opened += late.size;
    if (this.#opened > this.limits.fields) throw tooManyFields(this.limits);
    return late.selection;
  }
}
