import { callTimedOut } from '../../store/guards.js';

/** Ends a search at the deadline of its call. */
export class TimeLimit {
  readonly #deadline: number;
  #steps = 0;

  /** @param deadline on the clock of `performance.now()`; undefined: none */
  constructor(deadline: number | undefined) {
    this.#deadline = deadline ?? Infinity;
  }

  /** PERF: one step in 16 looks at the clock. @throws FhirError `aborted` */
  step(): void {
    if ((++this.#steps & 15) === 0 && performance.now() > this.#deadline) throw callTimedOut();
  }
}
