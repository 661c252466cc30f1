import { LRUCache } from 'lru-cache';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { inSpan, type Observer } from '../../telemetry/observer.js';
import { type OperationDefinitionNode, print, type SelectionSetNode } from '../graphql-js.js';
import { type Limits, tooDeep, tooManyFields } from '../limits.js';
import type { PreparedDocument } from '../prepared-document.js';
import { MUTATION, SUBSCRIPTIONS } from '../schema/fields.js';
import { collectFields, type DocumentParts, typesNamedIn } from './collect-fields.js';
import { type FieldNodes, planField, type Planning, type Scope } from './plan-field.js';
import type { AnyTypeSelection, OperationPlan, Selection } from './plan.js';
import { hasShapedField } from './shaping.js';

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

/**
 * Compiles a validated operation.
 *
 * @param root the type of the outermost selection: `Query`, `Mutation`, `Subscriptions`, or the type of the instance the query is
 * executed on
 * @throws LimitError `fields`, `depth` - fragments can expand a small document to a huge one
 */
function planOperation(
  operation: OperationDefinitionNode,
  root: string,
  parts: DocumentParts,
  limits: Limits,
): OperationPlan {
  const variables = operation.variableDefinitions?.map(({ variable }) => variable.name.value) ?? [];
  const planner = new Planner(parts, limits, variables, 0);
  const selection = planner.select(root, [operation.selectionSet], { depth: 1, path: '', targets: undefined });
  if (root === MUTATION) assertAlone(selection);
  const shaped = !parts.merge || hasShapedField(operation.selectionSet, parts.fragments);
  return freezePlan({ root: selection, shaped, depth: planner.depth, size: planner.size });
}

/**
 * A field of the host that writes outside of the store cannot be undone together with a commit, and cannot follow
 * another such field.
 *
 * @throws FhirError `invalid`
 */
function assertAlone({ fields }: Selection): void {
  const alone = fields.find((field) => field.kind === 'host');
  const others = fields.filter((field) => field.kind !== 'typename');
  if (alone === undefined || others.length === 1) return;
  throw new FhirError('invalid', `Field "${alone.field.name}" must be the only field of its mutation`);
}

/** A selection that was planned after its operation, for a type first found in the data. */
interface LateSelection {
  readonly selection: Selection;
  /** Number of selections it opened. */
  readonly size: number;
}

/**
 * Compiles the selection on a type not named by any fragment.
 *
 * @param opened number of selections opened so far, which counts against the limit
 * @throws LimitError `fields`, `depth`
 */
function planLateSelection(
  place: AnyTypeSelection,
  type: string,
  parts: DocumentParts,
  limits: Limits,
  opened: number,
): LateSelection {
  const planner = new Planner(parts, limits, [], opened);
  const selection = planner.select(type, place.sets, scopeFor(place, type));
  return freezePlan({ selection, size: planner.size - opened });
}

class Planner implements Planning {
  readonly model: FhirModel;
  depth = 0;

  constructor(
    private readonly parts: DocumentParts,
    private readonly limits: Limits,
    readonly variables: readonly string[],
    public size: number,
  ) {
    this.model = parts.model;
  }

  printFragments(): readonly string[] {
    return [...this.parts.fragments.values()].map(print);
  }

  select(type: string, sets: readonly SelectionSetNode[], scope: Scope): Selection {
    if (scope.depth > this.limits.depth) throw tooDeep(this.limits);
    this.depth = Math.max(this.depth, scope.depth);
    const fields = Array.from(this.collect(type, sets), ([key, nodes]) => planField(type, key, nodes, scope, this));
    return { type, fields };
  }

  selectAnyType(sets: readonly SelectionSetNode[], { depth, path }: Scope): AnyTypeSelection {
    const types = [...typesNamedIn(sets, this.parts)];
    const named = types.map((type) => [type, this.select(type, sets, scopeFor({ depth, path }, type))] as const);
    return { path, depth, named: Object.fromEntries(named), sets };
  }

  collect(type: string, sets: readonly SelectionSetNode[]): ReadonlyMap<string, FieldNodes> {
    return collectFields(type, sets, this.parts, () => {
      this.size += 1;
      if (this.size > this.limits.fields) throw tooManyFields(this.limits);
    });
  }
}

function scopeFor({ depth, path }: Pick<AnyTypeSelection, 'depth' | 'path'>, type: string): Scope {
  return { depth, path: `${path}(${type})`, targets: undefined };
}

/** Freezes a plan and its own objects, but not document nodes and element definitions. */
function freezePlan<Plan extends object>(plan: Plan): Plan {
  const open: object[] = [plan];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    Object.freeze(one);
    // `Object.entries` makes an array for each of thousands of members.
    for (const name in one) {
      const inner = (one as { readonly [name: string]: unknown })[name];
      if (typeof inner === 'object' && inner !== null && !FOREIGN.has(name) && !Object.isFrozen(inner))
        open.push(inner);
    }
  }
  return plan;
}

const FOREIGN: ReadonlySet<string> = new Set(['element', 'nodes', 'sets', 'targets', 'field']);
