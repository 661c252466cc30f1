import { compilationSteps, type StepMeter } from '../../fhirpath/step-budget.js';
import { assertFewNumbers } from '../../fhirpath/syntax-tree.js';
import { LimitError, type Limits, tooCostly } from '../limits.js';
import { CALL_COST, LOOKUP_COST, weightOf } from '../plan/estimate-cost.js';
import type { Selection } from '../plan/plan.js';
import type { Deadline, RequestPace } from './deadline.js';

/** Maximum characters of a text that counts as one value. */
export const LONG_TEXT = 1_000;

/** A value takes about as many bytes of memory. */
const CHARACTERS_PER_VALUE = 100;

/** What a request has spent of its limits. */
export class Spending implements StepMeter {
  storeCalls = 0;
  resolverCalls = 0;
  rows = 0;
  values = 0;
  /** In the unit of `estimateCost`. */
  cost = 0;
  fhirpathSteps = 0;
  #steps = 0;
  #nextLook = 0;
  #expressions: Set<string> | undefined;

  constructor(
    protected readonly limits: Limits,
    readonly deadline: Deadline,
  ) {}

  /** Between steps that may take milliseconds. */
  get pace(): RequestPace {
    return this.deadline.pace;
  }

  /**
   * Counts a store call before it is made.
   *
   * @param lookups the parents of a reverse list
   * @throws LimitError `storeCalls`, `cost`, `timeout`
   * @throws FhirError `aborted` - the host's signal
   */
  spendCall(lookups = 0): void {
    const { limits } = this;
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
    const { limits } = this;
    this.deadline.check();
    this.resolverCalls += 1;
    this.cost += CALL_COST + parents * cost;
    if (this.resolverCalls > limits.resolverCalls) throw tooManyResolverCalls(limits);
    this.assertAffordable(0);
  }

  /** The maximum number of resources that may still be read. */
  get resourcesLeft(): number {
    const { rows, cost } = this.limits;
    return Math.max(0, Math.floor(Math.min(rows - this.rows, cost - this.cost)));
  }

  /** The refusal by the limit behind {@link resourcesLeft}. */
  tooManyResources(): LimitError {
    const { limits } = this;
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
    if (this.cost + least > this.limits.cost) throw tooCostly(this.limits, this.cost + least);
  }

  /**
   * Counts the steps of a FHIRPath evaluation, and checks the clock: synchronous evaluations prevent timers from
   * firing.
   *
   * @throws LimitError `fhirpathSteps`, `timeout`
   * @throws FhirError `aborted`
   */
  spend(steps: number): void {
    const { fhirpathSteps } = this.limits;
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
   * @throws FhirError `too-costly` - it would take long to parse
   */
  spendExpression(expression: string): void {
    this.#expressions ??= new Set();
    if (this.#expressions.has(expression)) return;
    this.#expressions.add(expression);
    assertFewNumbers(expression);
    this.spend(compilationSteps(expression));
  }

  /**
   * Counts an object before its fields are written.
   *
   * @throws LimitError `values`
   */
  spendObject(fields: number): void {
    this.values += 1 + fields;
    if (this.values > this.limits.values) throw tooManyValues(this.limits);
  }

  /**
   * Counts the characters of a leaf with more than {@link LONG_TEXT} of them: a short document with many aliases can repeat
   * a text of megabytes.
   *
   * @throws LimitError `values`
   */
  spendLeaf(leaf: unknown): void {
    if (typeof leaf !== 'string' || leaf.length <= LONG_TEXT) return;
    this.values += Math.floor(leaf.length / CHARACTERS_PER_VALUE);
    if (this.values > this.limits.values) throw tooManyValues(this.limits);
  }

  /**
   * Whether a look at {@link pace} is due. Checked before each step of filling a level.
   *
   * Reading the clock costs as much as projecting a short resource.
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
    const { limits } = this;
    this.rows += count;
    this.cost += selection === undefined ? count : count * weightOf(selection);
    if (this.rows > limits.rows) throw tooManyRows(limits, this.rows);
    this.assertAffordable(0);
  }
}

/** Steps that take about 0.3 ms. */
const STEPS_PER_LOOK = 32;
const VALUES_PER_LOOK = 2_000;

function tooManyRows({ rows }: Limits, value: number): LimitError {
  const message = `The answer needs more than ${rows} resources; narrow the searches or page with _count`;
  return new LimitError('rows', rows, message, value);
}

export function tooManyBytes({ bytes }: Limits): LimitError {
  return new LimitError(
    'bytes',
    bytes,
    `The answer needs more than ${bytes} bytes of stored resources; page with a smaller _count, narrow the searches, or split the query`,
  );
}

function tooManyValues({ values }: Limits): LimitError {
  return new LimitError(
    'values',
    values,
    `The answer holds more than ${values} values, and each 100 characters of a long text count as one; select fewer fields, or page with _count`,
  );
}

export function tooManyErrors({ errors }: Limits): LimitError {
  return new LimitError(
    'errors',
    errors,
    `More than ${errors} fields failed; ask for fewer, or leave out broken references with optional: true`,
  );
}

function tooManyResolverCalls({ resolverCalls }: Limits): LimitError {
  return new LimitError(
    'resolverCalls',
    resolverCalls,
    `The query needs more than ${resolverCalls} calls of the service's own fields; select them with fewer different arguments`,
  );
}

export function tooManyCalls({ storeCalls }: Limits): LimitError {
  return new LimitError(
    'storeCalls',
    storeCalls,
    `The query needs more than ${storeCalls} calls to the store; ask for fewer lists and references`,
  );
}
