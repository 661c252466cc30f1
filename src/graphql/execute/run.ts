import type { Container } from '../../fhir/container.js';
import { type ErrorHook, FhirError, maskError, reportError } from '../../fhir/error.js';
import type { AnyResource, JsonObject } from '../../fhir/resource.js';
import type { AuditTarget } from '../../audit/audit-record.js';
import type { AccessTrace } from '../../access/access-trace.js';
import type { GuardedStore } from '../../access/contract.js';
import { LimitError, type Limits } from '../limits.js';
import type { Deadline } from './deadline.js';
import type { Variables } from '../plan/arguments.js';
import type { Dialect } from '../dialect.js';
import type { TypedSelections } from '../plan/plan-cache.js';
import type {
  ElementFilter,
  Location,
  Edge,
  HostEdge,
  HostReferenceEdge,
  ReadEdge,
  ReferenceEdge,
  SearchEdge,
  Selection,
} from '../plan/plan.js';
import type { Observer } from '../../telemetry/observer.js';
import { tooManyErrors, Spending, tooManyBytes } from './spending.js';
import type { ReferenceTarget } from '../../store/resource-key.js';
import type { ResolvableReference } from './resolvable-reference.js';
import { nextTurn } from '../../platform/runtime.js';

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
  keeps(item: unknown, container: Container): boolean;
  page(kept: readonly unknown[]): readonly unknown[];
}

/** The resources available to a request. */
export interface RunOptions {
  readonly store: GuardedStore;
  readonly selections: TypedSelections;
  readonly variables: Variables;
  readonly limits: Limits;
  readonly now: Date;
  /** Closed by the caller. */
  readonly deadline: Deadline;
  readonly dialect: Dialect;
  /** Whether to follow references with only an identifier. */
  readonly resolveIdentifiers: boolean | undefined;
  readonly resolveReference: ReferenceResolver | undefined;
  /** Called before a mutation writes, and again with the outcome. */
  readonly onWrites: ((targets: readonly AuditTarget[]) => void) | undefined;
  /** Records what the answer shows, if the request is audited. */
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

/**
 * The state of a running request: open holes, faults, and facts about its objects.
 *
 * Most requests need none of its collections, so each is created at first use.
 */
export class Run extends Spending {
  readonly faults: FieldFault[] = [];
  /** The selection of each object of a reshaped response; undefined if the response is not reshaped. */
  readonly selections: Map<Output, Selection> | undefined;
  /** Calls of the host's resolvers, which run in parallel with the store calls. */
  readonly hostCalls = new HostCalls();
  /** Places of the response that may not be null. */
  readonly required = new RequiredPlaces();
  #reported: Set<unknown> | undefined;
  /** Fills lists whose items are tested by FHIRPath, in turns with other work, before the next level. */
  readonly longLists: (() => Promise<void>)[] = [];
  /** True once a mutation has changed something. */
  written = false;
  /** True once the answer has a decimal with its original text. */
  hasDecimalText = false;
  #pending = new Map<Edge, Hole[]>();
  #filters: Map<ElementFilter, ItemFilter | FhirError> | undefined;
  #slices: Map<Output, Map<string, readonly string[]>> | undefined;
  #foreign: Map<AnyResource, string> | undefined;
  #versions: Set<AnyResource> | undefined;
  #opaque: Set<object> | undefined;

  /** @param shaped whether the response will be reshaped */
  constructor(
    readonly options: RunOptions,
    shaped: boolean,
  ) {
    super(options.limits, options.deadline);
    this.selections = shaped ? new Map() : undefined;
  }

  get filters(): Map<ElementFilter, ItemFilter | FhirError> {
    return (this.#filters ??= new Map<ElementFilter, ItemFilter | FhirError>());
  }

  /** The results of `@slice` for the items of a field, by object and key: `.official`, or empty. */
  get slices(): Map<Output, Map<string, readonly string[]>> {
    return (this.#slices ??= new Map<Output, Map<string, readonly string[]>>());
  }

  /** Resources resolved by the host, with their URLs. */
  get foreign(): Map<AnyResource, string> {
    return (this.#foreign ??= new Map<AnyResource, string>());
  }

  /** Versioned resources from references, distinct from the current resources. */
  get versions(): Set<AnyResource> {
    return (this.#versions ??= new Set<AnyResource>());
  }

  /** JSON of the host's scalars, which reshaping leaves as it is. */
  get opaque(): Set<object> {
    return (this.#opaque ??= new Set<object>());
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

  /** Marks a place that may not be null: if it is null in the end, the object or list around it becomes null. */
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
    this.#reported ??= new Set();
    if (this.#reported.has(cause)) return;
    this.#reported.add(cause);
    reportError(error, this.options.onError);
  }
}

/** A response object under construction. */
export type Output = { [key: string]: unknown };

/** A position of the response that awaits a store call: `out[edge.key]`. */
export type Hole = ReadHole | SearchHole | ReferenceHole | HostHole | HostReferenceHole;

export interface ReadHole {
  readonly out: Output;
}

export interface SearchHole {
  readonly out: Output;
  /** The parent of a reverse list; undefined at the root and inside contained resources, which cannot be referenced. */
  readonly target: { readonly type: string; readonly id: string } | undefined;
}

export interface ReferenceHole {
  readonly out: Output;
  readonly reference: ResolvableReference;
}

export interface HostHole {
  readonly out: Output;
  /** The object that the field belongs to, as the caller sees it; undefined at the root. */
  readonly parent: JsonObject | undefined;
  /** The resource of the parent. */
  readonly container: Container;
}

export interface HostReferenceHole {
  /** The object or list that awaits the resource. */
  readonly out: Output;
  /** Its key; undefined for a list, which is appended to. */
  readonly key: string | undefined;
  /** The target; undefined if the value is absent; an error if the value does not name a resource. */
  readonly link: ReferenceTarget | FhirError | undefined;
  /** Whether missing and hidden resources are null, instead of being left out. */
  readonly keepsAbsent: boolean;
}

/** An edge and the holes it fills. */
export interface Waiting<WaitingEdge, WaitingHole> {
  readonly edge: WaitingEdge;
  readonly holes: readonly WaitingHole[];
}

/** A response object, or a list of the response. */
type Around = object;

/**
 * The places of a response that may not be null, as `!` in the types of the host's fields says. A null there makes the
 * object or list around it null, up to the first place that may be null. See
 * https://spec.graphql.org/October2021/#sec-Handling-Field-Errors.
 */
class RequiredPlaces {
  // Most requests have none.
  #keys: Map<Around, Set<string>> | undefined;
  #lists: Set<Around> | undefined;

  add(around: Around, key: string): void {
    this.#keys ??= new Map();
    const keys = this.#keys.get(around);
    if (keys === undefined) this.#keys.set(around, new Set([key]));
    else keys.add(key);
  }

  addItems(list: readonly unknown[]): void {
    (this.#lists ??= new Set()).add(list);
  }

  has(around: Around, key: string): boolean {
    return this.#keys?.get(around)?.has(key) === true;
  }

  /** True if no place of the response is required. */
  get isEmpty(): boolean {
    return this.#keys === undefined && this.#lists === undefined;
  }

  /** The value with nulls moved up to where they are allowed. It changes the value in place. */
  propagate(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const keys = this.#keys?.get(value);
    let isLost = false;
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        value[index] = this.propagate(item);
        isLost ||= value[index] === null && (keys?.has(String(index)) === true || this.#lists?.has(value) === true);
      });
      return isLost ? null : value;
    }
    const object = value as { [key: string]: unknown };
    for (const key of Object.keys(object)) {
      const inner = object[key];
      if (typeof inner !== 'object' && keys === undefined) continue;
      const kept = this.propagate(inner);
      if (kept !== inner) object[key] = kept;
      isLost ||= kept === null && keys?.has(key) === true;
    }
    return isLost ? null : object;
  }
}

/**
 * The calls of resolvers that run in parallel with the levels of store calls, so that a slow resolver delays only the
 * fields below it.
 */
class HostCalls {
  // Most requests have none.
  #running: Set<Promise<void>> | undefined;
  #failures: unknown[] = [];

  /** @param work rejects only with an error that ends the request */
  start(work: Promise<void>): void {
    const running: Promise<void> = work
      .catch((error: unknown) => void this.#failures.push(error))
      .finally(() => this.#running!.delete(running));
    (this.#running ??= new Set()).add(running);
  }

  get isIdle(): boolean {
    return this.#count === 0 && this.#failures.length === 0;
  }

  get #count(): number {
    return this.#running?.size ?? 0;
  }

  /** Waits for one call, and for calls that end in the same turn, so that the fields below them share store calls. */
  async next(): Promise<void> {
    if (this.#count > 0) await Promise.race(this.#running!);
    await this.takeTurn();
  }

  /**
   * Lets resolvers that finish without waiting end with their level.
   *
   * @throws the error of a resolver, if it ends the request
   */
  async takeTurn(): Promise<void> {
    if (this.isIdle) return;
    await nextTurn();
    const [failure] = this.#failures.splice(0, 1);
    if (failure !== undefined) throw failure as Error;
  }
}

/**
 * Makes a store call under the limits.
 *
 * @param lookups the parents of a reverse list
 * @throws as the store, and `Deadline.wait`
 */
export async function call<Result>(run: Run, work: () => Promise<Result>, lookups = 0): Promise<Result> {
  run.spendCall(lookups);
  try {
    return await run.deadline.wait(work());
  } catch (error) {
    throw faultOf(error, run);
  }
}

function faultOf(error: unknown, run: Run): unknown {
  const isTooMany = error instanceof FhirError && error.detailsOf('too-costly')?.limit === 'maxResources';
  if (isTooMany) return run.tooManyResources();
  const isTooLong = error instanceof FhirError && error.detailsOf('too-costly')?.limit === 'bytes';
  return isTooLong ? tooManyBytes(run.options.limits) : run.deadline.faultOf(error);
}
