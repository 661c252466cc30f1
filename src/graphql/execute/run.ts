import { type FhirError, maskError } from '../../fhir/error.js';
import { type ErrorHook, reportError } from '../../fhir/report-error.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import type { AccessTrace } from '../../access/access-trace.js';
import type { GuardedStore } from '../../access/contract.js';
import { compilationSteps, type StepMeter } from '../../fhirpath/step-budget.js';
import { LimitError, tooCostly, type Limits } from '../limits.js';
import type { Clock } from './clock.js';
import { Deadline } from './deadline.js';
import type { Variables } from '../plan/arguments.js';
import { CALL_COST, LOOKUP_COST, weightOf } from '../plan/estimate-cost.js';
import type { Dialect } from '../dialect.js';
import type { TypedSelections } from '../plan/typed-selections.js';
import type {
  Edge,
  ElementFilter,
  HostEdge,
  HostReferenceEdge,
  Location,
  ReadEdge,
  ReferenceEdge,
  SearchEdge,
  Selection,
} from '../plan/plan.js';
import type { Observer } from '../../telemetry/observer.js';
import { HostCalls } from './host/host-calls.js';
import type { Hole, HostHole, HostReferenceHole, Output, ReadHole, ReferenceHole, SearchHole } from './holes.js';
import { tooManyCalls, tooManyErrors, tooManyResolverCalls, tooManyRows, tooManyValues } from './limit-errors.js';
import { RequiredPlaces } from './required-places.js';

/** A failed field and its parent object; the path is computed only when errors are reported. */
export interface FieldFault {
  readonly out: Output;
  readonly key: string;
  /** The failed item of a list; undefined if the whole field failed. */
  readonly index: number | undefined;
  readonly location: Location | undefined;
  readonly error: FhirError;
}

/** Filters and pages the items of a repeating element; created once per filter and request. */
export interface ItemFilter {
  keeps(item: unknown, resource: AnyResource): boolean;
  page(kept: readonly unknown[]): readonly unknown[];
}

/** The resources available to a request. */
export interface RunOptions {
  readonly store: GuardedStore;
  readonly selections: TypedSelections;
  readonly variables: Variables;
  readonly limits: Limits;
  readonly baseUrl: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly now: Date;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** How much of the time is over already, in milliseconds. Default 0. */
  readonly waited?: number | undefined;
  readonly dialect: Dialect;
  /** Whether to follow references with only an identifier. */
  readonly resolveIdentifiers: boolean | undefined;
  readonly resolveReference: ReferenceResolver | undefined;
  /** Called before a mutation writes, and again with the outcome. */
  readonly onWrites: ((targets: readonly AuditTarget[]) => void) | undefined;
  /** Learns what the answer shows, if the request is audited. */
  readonly trace?: AccessTrace | undefined;
  /** Receives errors that are not the client's. */
  readonly onError?: ErrorHook | undefined;
  /** Receives the spans of the host's fields. */
  readonly observer?: Observer | undefined;
}

/**
 * Follows a reference that leads outside this service, or a URN.
 *
 * @param url as in the reference; relative references inside resources returned by this function are made absolute
 * @returns null or undefined if the target does not exist
 */
export type ReferenceResolver = (url: string) => Promise<AnyResource | null | undefined>;

/** The state of one request while it runs: open holes, faults and the resources spent. */
export class Run implements StepMeter {
  readonly faults: FieldFault[] = [];
  readonly filters = new Map<ElementFilter, ItemFilter | FhirError>();
  /** The selection of each object of a reshaped response; undefined if the response is not reshaped. */
  readonly selections: WeakMap<Output, Selection> | undefined;
  /** The results of `@slice` for the items of a field, by object and key: `.official`, or empty. */
  readonly slices = new Map<Output, Map<string, readonly string[]>>();
  /** Resources resolved by the host, with their URLs. */
  readonly foreign = new WeakMap<AnyResource, string>();
  /** Versioned resources from references, distinct from the current resources. */
  readonly versions = new WeakSet<AnyResource>();
  /** JSON of the host's scalars, which reshaping leaves as it is. */
  readonly opaque = new WeakSet<object>();
  /** Calls of the host's resolvers that run beside the store calls. */
  readonly hostCalls = new HostCalls();
  /** Places of the response that may not be null. */
  readonly required = new RequiredPlaces();
  readonly deadline: Deadline;
  readonly #reported = new Set<unknown>();
  /** Fills long lists whose items are tested by FHIRPath, in turns with other work, before the next level. */
  readonly longLists: (() => Promise<void>)[] = [];
  storeCalls = 0;
  resolverCalls = 0;
  rows = 0;
  values = 0;
  /** In the unit of `estimateCost`. */
  cost = 0;
  fhirpathSteps = 0;
  /** True once a mutation has changed something. */
  written = false;
  /** True once a decimal of the answer has a text of its own. */
  hasDecimalText = false;
  #pending = new Map<Edge, Hole[]>();
  #steps = 0;
  #nextLook = 0;
  readonly #expressions = new Set<string>();

  /** @param shaped whether the response will be reshaped */
  constructor(
    readonly options: RunOptions,
    shaped: boolean,
  ) {
    this.selections = shaped ? new WeakMap() : undefined;
    this.deadline = new Deadline(options.limits.timeout, options.signal, options.clock, options.waited);
  }

  /** Defers a field until its edge is called; its key keeps its position in the response. */
  defer(edge: ReadEdge, hole: ReadHole): void;
  defer(edge: SearchEdge, hole: SearchHole): void;
  defer(edge: ReferenceEdge, hole: ReferenceHole): void;
  defer(edge: HostEdge, hole: HostHole): void;
  defer(edge: HostReferenceEdge, hole: HostReferenceHole): void;
  defer(edge: Edge, hole: Hole): void {
    if (!('key' in hole)) hole.out[edge.key] = null;
    const holes = this.#pending.get(edge);
    if (holes === undefined) this.#pending.set(edge, [hole]);
    else holes.push(hole);
  }

  /** Takes the holes of the next level. */
  takeLevel(): ReadonlyMap<Edge, Hole[]> {
    const level = this.#pending;
    this.#pending = new Map();
    return level;
  }

  /**
   * Sets a field to null and records the error. Limits and aborts end the request instead.
   *
   * @param index the failed item of a list, which the caller sets to null
   */
  fail(
    out: Output,
    { key, location }: { readonly key: string; readonly location: Location | undefined },
    error: unknown,
    index?: number,
  ): void {
    if (error instanceof LimitError) throw error;
    const known = maskError(error);
    if (known.code === 'aborted') throw known;
    this.#report(known);
    if (index === undefined) out[key] = null;
    this.faults.push({ out, key, index, location, error: known });
    if (this.faults.length > this.options.limits.errors) throw tooManyErrors(this.options.limits);
  }

  /** A place that may not be null: where it is in the end, the object or list around it is null instead. */
  require(out: Output, key: string): void {
    this.required.add(out, key);
  }

  /** A list whose items may not be null. */
  requireItems(list: readonly unknown[]): void {
    this.required.addItems(list);
  }

  /** One failed store call fails many fields with the same error. */
  #report(error: FhirError): void {
    const cause = error.cause ?? error;
    if (this.#reported.has(cause)) return;
    this.#reported.add(cause);
    reportError(error, this.options.onError);
  }

  /**
   * Counts a store call before it is made.
   *
   * @param lookups the parents of a reverse list
   * @throws LimitError `storeCalls`, `cost`, `timeout`
   * @throws FhirError `aborted` - the host's signal
   */
  spendCall(lookups = 0): void {
    const { limits } = this.options;
    this.deadline.check();
    this.storeCalls += 1;
    this.cost += CALL_COST + lookups * LOOKUP_COST;
    if (this.storeCalls > limits.storeCalls) throw tooManyCalls(limits);
    this.assertAffordable(0);
  }

  /**
   * Counts the call of a resolver before it is made.
   *
   * @param cost per parent, in resources
   * @throws LimitError `resolverCalls`, `cost`, `timeout`
   * @throws FhirError `aborted` - the host's signal
   */
  spendResolver(parents: number, cost: number): void {
    const { limits } = this.options;
    this.deadline.check();
    this.resolverCalls += 1;
    this.cost += CALL_COST + parents * cost;
    if (this.resolverCalls > limits.resolverCalls) throw tooManyResolverCalls(limits);
    this.assertAffordable(0);
  }

  /** The most resources that may still be read. */
  get resourcesLeft(): number {
    const { rows, cost } = this.options.limits;
    return Math.max(0, Math.floor(Math.min(rows - this.rows, cost - this.cost)));
  }

  /** The refusal by the limit behind {@link resourcesLeft}. */
  tooManyResources(): LimitError {
    const { limits } = this.options;
    const left = this.resourcesLeft;
    return limits.rows - this.rows <= limits.cost - this.cost
      ? tooManyRows(limits, this.rows + left + 1)
      : tooCostly(limits, this.cost + left + 1);
  }

  /**
   * Refuses the request once its cost so far and the least that is still to come exceed the limit.
   *
   * @throws LimitError `cost`
   */
  assertAffordable(least: number): void {
    if (this.cost + least > this.options.limits.cost) throw tooCostly(this.options.limits, this.cost + least);
  }

  /**
   * Counts the steps of a FHIRPath evaluation, and checks the clock: synchronous evaluations prevent timers from
   * firing.
   *
   * @throws LimitError `fhirpathSteps`, `timeout`
   * @throws FhirError `aborted`
   */
  spend(steps: number): void {
    const { fhirpathSteps } = this.options.limits;
    if (steps === 0) this.deadline.check();
    this.fhirpathSteps += steps;
    if (this.fhirpathSteps <= fhirpathSteps) return;
    throw new LimitError(
      'fhirpathSteps',
      fhirpathSteps,
      `FHIRPath expressions took more than ${fhirpathSteps} steps together; filter by search parameters first`,
      Math.ceil(this.fhirpathSteps),
    );
  }

  /**
   * Counts an expression once, even if it is cached: the answer must not depend on the cache.
   *
   * @throws as {@link spend}
   */
  spendExpression(expression: string): void {
    if (this.#expressions.has(expression)) return;
    this.#expressions.add(expression);
    this.spend(compilationSteps(expression));
  }

  /**
   * Counts an object before its fields are written.
   *
   * @throws LimitError `values`
   */
  spendObject(fields: number): void {
    this.values += 1 + fields;
    if (this.values > this.options.limits.values) throw tooManyValues(this.options.limits);
  }

  /**
   * Asked before each step of filling a level: whether `deadline.yieldIfLong()` is due.
   *
   * PERF: a look at the clock costs as much as projecting a short resource.
   */
  get isLookDue(): boolean {
    this.#steps += 1;
    if (this.#steps < STEPS_PER_LOOK && this.values < this.#nextLook) return false;
    this.#steps = 0;
    this.#nextLook = this.values + VALUES_PER_LOOK;
    return true;
  }

  /**
   * Counts resources read.
   *
   * @param selection their selection; undefined if only the number counts
   * @throws LimitError `rows`, `cost`
   */
  spendRows(count: number, selection: Selection | undefined): void {
    const { limits } = this.options;
    this.rows += count;
    this.cost += selection === undefined ? count : count * weightOf(selection);
    if (this.rows > limits.rows) throw tooManyRows(limits, this.rows);
    this.assertAffordable(0);
  }
}

/** What takes about 0.3 ms. */
const STEPS_PER_LOOK = 32;
const VALUES_PER_LOOK = 2_000;
