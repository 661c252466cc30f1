/** Work in steps that concurrent calls do together, such as an index that all of them need. */
export class SharedSteps<Result> {
  /** Undefined until the last step is done. */
  result: Result | undefined;
  readonly #steps: Generator<void, Result>;

  constructor(steps: Generator<void, Result>) {
    this.#steps = steps;
  }

  /** Does the steps that are left; other calls may do some of them in between. */
  *finishing(): Generator<void, Result> {
    for (;;) {
      if (this.result !== undefined) return this.result;
      const step = this.#steps.next();
      if (step.done === true) return (this.result = step.value);
      yield;
    }
  }
}
