import { guardStore } from '../../src/access/guarded-store.js';
import type { FhirGraphqlContext } from '../../src/index.js';
import { TextBudget } from '../../src/store.js';
import { type Clock, Deadline } from '../../src/graphql/execute/deadline.js';
import { executePlan, type Outcome } from '../../src/graphql/execute/execute-plan.js';
import { withDefaults } from '../../src/graphql/limits.js';
import { planFor } from '../../src/graphql/plan/plan-cache.js';
import { prepareRequest, runOptionsOf } from '../../src/graphql/prepare-request.js';

/** A clock that only a test advances. */
export class ManualClock implements Clock {
  /** How often the clock was read. */
  looks = 0;
  readonly isTurnSpent = false;
  #time = 0;
  readonly #alarms = new Set<{ readonly at: number; readonly call: () => void }>();

  /** @param onLook called at each read, before it returns */
  constructor(private readonly onLook: (clock: ManualClock) => void = () => undefined) {}

  /** Number of pending timers. */
  get alarms(): number {
    return this.#alarms.size;
  }

  now(): number {
    this.looks += 1;
    this.onLook(this);
    return this.#time;
  }

  after(milliseconds: number, call: () => void): () => void {
    const alarm = { at: this.#time + milliseconds, call };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** Advances the time, and runs the timers that are due. */
  advance(milliseconds: number): void {
    this.pass(milliseconds);
    for (const alarm of this.#alarms) {
      if (alarm.at > this.#time) continue;
      this.#alarms.delete(alarm);
      alarm.call();
    }
  }

  /** Advances the time without running timers, as during work that blocks them. */
  pass(milliseconds: number): void {
    this.#time += milliseconds;
  }
}

/**
 * Executes a query like `executeFhirGraphql`, with another clock.
 *
 * @throws FhirError - the request failed as a whole
 */
export async function executeBy(clock: Clock, query: string, context: FhirGraphqlContext): Promise<Outcome> {
  const { timeout, bytes } = withDefaults(context.limits);
  const deadline = new Deadline(timeout, context.signal, clock, 0, new TextBudget(bytes));
  try {
    const request = await prepareRequest(query, context, deadline);
    const { document, operation, variables, limits, focus } = request;
    const { plan, selections } = planFor(document, operation, variables, limits, undefined);
    const store = guardStore(context.store, context.caller);
    return await executePlan(plan, focus, runOptionsOf(request, context, deadline, store, selections));
  } finally {
    deadline.close();
  }
}
