import { type FhirError, maskError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import type { AuditTarget } from '../../audit/audit.js';
import type { GuardedStore } from '../../access/contract.js';
import { compilationSteps, type StepMeter } from '../../fhirpath/step-budget.js';
import { LimitError, type Limits } from '../limits.js';
import type { Clock } from './clock.js';
import { Deadline } from './deadline.js';
import type { ResolvableReference } from './resolvable-reference.js';
import type { Variables } from '../plan/arguments.js';
import { CALL_COST, weightOf } from '../plan/estimate-cost.js';
import type { Dialect } from '../dialect.js';
import type { TypedSelections } from '../plan/typed-selections.js';
import type { Edge, ElementFilter, Location, ReadEdge, ReferenceEdge, SearchEdge, Selection } from '../plan/plan.js';

/** An object of the response, being filled. */
export type Output = { [key: string]: unknown };

/** A place of the response that waits for a store call: `out[edge.key]`. */
export type Hole = ReadHole | SearchHole | ReferenceHole;

export interface ReadHole {
  readonly out: Output;
}
export interface SearchHole {
  readonly out: Output;
  /** The resource around a reverse list; undefined at the root and inside contained resources, which nothing refers to. */
  readonly target: { readonly type: string; readonly id: string } | undefined;
}
export interface ReferenceHole {
  readonly out: Output;
  readonly reference: ResolvableReference;
  /** The resource that the reference stands in, whose contained resources it may name. */
  readonly container: AnyResource;
}

/** A field that failed, by the object it stands in: its path is looked up only when there is an error to report. */
export interface FieldFault {
  readonly out: Output;
  readonly key: string;
  /** The item of a list that failed; undefined for the field as a whole. */
  readonly index: number | undefined;
  readonly location: Location | undefined;
  readonly error: FhirError;
}

/** Keeps, drops and cuts the items of a repeating element; made once per filter and request. */
export type ItemFilter = (items: readonly unknown[], resource: AnyResource) => readonly unknown[];

/** What a request may draw on while it runs. */
export interface RunOptions {
  readonly store: GuardedStore;
  readonly selections: TypedSelections;
  readonly variables: Variables;
  readonly limits: Limits;
  readonly baseUrl: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly now: Date;
  /** Default: the clock of the system. */
  readonly clock?: Clock | undefined;
  readonly dialect: Dialect;
  /** Follow references that only have an identifier. */
  readonly resolveIdentifiers: boolean | undefined;
  readonly resolveReference: ReferenceResolver | undefined;
  /** Told what a mutation is about to write, and again what that came to. */
  readonly onWrites: ((targets: readonly AuditTarget[]) => void) | undefined;
}

/**
 * Follows a reference that leads outside this service, or a URN.
 *
 * @param url as it stands in the reference; a relative one inside a resource that this function gave is made absolute
 * @returns null or undefined where it leads nowhere
 */
export type ReferenceResolver = (url: string) => Promise<AnyResource | null | undefined>;

/** The state of one request while it runs: holes to fill, faults, what has been spent. */
export class Run implements StepMeter {
  readonly faults: FieldFault[] = [];
  readonly filters = new Map<ElementFilter, ItemFilter | FhirError>();
  /** For a response that is reshaped: what each object was made of. Undefined where nothing is. */
  readonly selections: WeakMap<Output, Selection> | undefined;
  /** What `@slice` gave for the items of a field, by object and key: `.official`, or nothing. */
  readonly slices = new Map<Output, Map<string, readonly string[]>>();
  /** Resources that the host resolved from outside, with their URLs. */
  readonly foreign = new WeakMap<AnyResource, string>();
  /** Versions that references named, which are resources apart from the current ones. */
  readonly versions = new WeakSet<AnyResource>();
  readonly deadline: Deadline;
  storeCalls = 0;
  rows = 0;
  values = 0;
  /** In the unit of `estimateCost`. */
  cost = 0;
  fhirpathSteps = 0;
  /** True once a mutation has changed something. */
  written = false;
  #pending = new Map<Edge, Hole[]>();
  readonly #expressions = new Set<string>();

  /** @param shaped whether the response will be reshaped */
  constructor(
    readonly options: RunOptions,
    shaped: boolean,
  ) {
    this.selections = shaped ? new WeakMap() : undefined;
    this.deadline = new Deadline(options.limits.timeout, options.signal, options.clock);
  }

  /** Puts off a field until its edge is called; the key keeps its place in the response. */
  defer(edge: ReadEdge, hole: ReadHole): void;
  defer(edge: SearchEdge, hole: SearchHole): void;
  defer(edge: ReferenceEdge, hole: ReferenceHole): void;
  defer(edge: Edge, hole: Hole): void {
    hole.out[edge.key] = null;
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
   * Makes a field null and remembers why. Limits and aborts end the request instead.
   *
   * @param index the item that failed, where the field holds a list, which its caller makes null
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
    if (index === undefined) out[key] = null;
    this.faults.push({ out, key, index, location, error: known });
    if (this.faults.length > this.options.limits.errors) throw tooManyErrors(this.options.limits);
  }

  /**
   * Counts a store call before it is made.
   *
   * @throws LimitError `storeCalls`, `timeout`
   * @throws FhirError `aborted` - the host's signal
   */
  spendCall(): void {
    const { limits } = this.options;
    this.deadline.check();
    this.storeCalls += 1;
    this.cost += CALL_COST;
    if (this.storeCalls > limits.storeCalls) throw tooManyCalls(limits);
  }

  /**
   * Counts the steps of a FHIRPath evaluation, and looks at the clock: many evaluations leave timers no turn.
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
   * Counts an expression once, whether or not somebody has compiled it before: the answer must not depend on that.
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
   * Counts resources that were read.
   *
   * @param selection what they are made to; undefined where only their number counts
   * @throws LimitError `rows`
   */
  spendRows(count: number, selection: Selection | undefined): void {
    const { limits } = this.options;
    this.rows += count;
    this.cost += selection === undefined ? count : count * weightOf(selection);
    if (this.rows <= limits.rows) return;
    throw new LimitError(
      'rows',
      limits.rows,
      `The answer needs more than ${limits.rows} resources; narrow the searches or page with _count`,
      this.rows,
    );
  }
}

export function tooManyValues({ values }: Limits): LimitError {
  return new LimitError(
    'values',
    values,
    `The answer holds more than ${values} values; select fewer fields, or page with _count`,
  );
}

export function tooManyErrors({ errors }: Limits): LimitError {
  return new LimitError(
    'errors',
    errors,
    `More than ${errors} fields failed; ask for fewer, or leave out broken references with optional: true`,
  );
}

export function tooManyCalls({ storeCalls }: Limits): LimitError {
  return new LimitError(
    'storeCalls',
    storeCalls,
    `The query needs more than ${storeCalls} calls to the store; ask for fewer lists and references`,
  );
}
