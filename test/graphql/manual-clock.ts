import { guardStore } from '../../src/access/guarded-store.js';
import type { FhirGraphqlContext } from '../../src/graphql/context.js';
import type { Clock } from '../../src/graphql/execute/clock.js';
import { executePlan, type Outcome } from '../../src/graphql/execute/execute-plan.js';
import { planFor } from '../../src/graphql/plan-cache.js';
import { prepareRequest, runOptionsOf } from '../../src/graphql/prepare-request.js';

/** A clock that stands still but for what a test does to it. */
export class ManualClock implements Clock {
  /** How often somebody looked at it. */
  looks = 0;
  readonly isTurnSpent = false;
  #time = 0;
  readonly #alarms = new Set<{ readonly at: number; readonly call: () => void }>();

  /** @param onLook called at each look, before it is answered */
  constructor(private readonly onLook: (clock: ManualClock) => void = () => undefined) {}

  /** How many timers wait. */
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

  /** Lets time pass, with the timers that it brings about. */
  advance(milliseconds: number): void {
    this.pass(milliseconds);
    for (const alarm of this.#alarms) {
      if (alarm.at > this.#time) continue;
      this.#alarms.delete(alarm);
      alarm.call();
    }
  }

  /** Lets time pass as it does for work that leaves timers no turn. */
  pass(milliseconds: number): void {
    this.#time += milliseconds;
  }
}

/**
 * Executes a query as `executeFhirGraphql` does, by another clock.
 *
 * @throws FhirError - the request failed as a whole
 */
export async function executeBy(clock: Clock, query: string, context: FhirGraphqlContext): Promise<Outcome> {
  const request = await prepareRequest(query, context, undefined);
  const { document, operation, variables, limits, focus } = request;
  const { plan, selections } = planFor(document, operation, variables, limits, undefined);
  const store = guardStore(context.store, context.caller);
  return executePlan(plan, focus, { ...runOptionsOf(request, context, store, selections), clock });
}
