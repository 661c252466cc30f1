import { callTimedOut } from '../../store/guards.js';

/** How many resources a step of long work looks at: about a millisecond. */
export const STEP = 256;

/** Ends a search at the deadline of its call. */
export class TimeLimit {
  readonly #deadline: number;
  #steps = 0;

  /** @param deadline on the clock of `performance.now()`; undefined: none */
  constructor(deadline: number | undefined) {
    this.#deadline = deadline ?? Infinity;
  }

  /** PERF (scale): one step in 16 looks at the clock. @throws FhirError `aborted` */
  step(): void {
    if ((++this.#steps & 15) === 0) this.check();
  }

  /** @throws FhirError `aborted` */
  check(): void {
    if (performance.now() > this.#deadline) throw callTimedOut();
  }
}

/** Work in steps, of which none begins after the time is over. */
export function* within<Result>(time: TimeLimit, work: Generator<void, Result>): Generator<void, Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    time.check();
    yield;
  }
}
