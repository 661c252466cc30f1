/**
 * Writes batches in order, at most two at once: the process makes the rows of one while the database writes those of the
 * other. Batches that concern the same resources follow each other.
 */
export class BatchQueue {
  #last: { readonly keys: ReadonlySet<string>; readonly done: Promise<void> } | undefined;
  #hasFailed = false;

  /**
   * Starts a batch. Resolves when there is room for another one.
   *
   * @param keys the resources that it concerns; undefined: it is written alone
   * @param write gets the end of the batches before it
   * @throws the error of this batch, or of one before it
   */
  async start(keys: ReadonlySet<string> | undefined, write: (before: Promise<void>) => Promise<void>): Promise<void> {
    if (keys === undefined || this.#hasFailed || this.#concernsOneOf(keys)) await this.settle();
    const before = this.#last?.done ?? Promise.resolve();
    const done = write(before);
    if (keys === undefined) return done;
    // Those that wait for it receive its failure.
    done.catch(() => (this.#hasFailed = true));
    this.#last = { keys, done };
    return before;
  }

  /** Waits for all batches. @throws the error of one of them */
  async settle(): Promise<void> {
    const last = this.#last;
    this.#last = undefined;
    await last?.done;
  }

  #concernsOneOf(keys: ReadonlySet<string>): boolean {
    const last = this.#last?.keys;
    return last !== undefined && [...keys].some((key) => last.has(key));
  }
}
