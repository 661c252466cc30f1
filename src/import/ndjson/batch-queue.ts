/** A batch that is being written. */
interface Batch {
  readonly keys: ReadonlySet<string>;
  readonly bytes: number;
  readonly done: Promise<void>;
}

/**
 * Writes batches in order, a few at once: the process makes the rows of some while the database writes those of another. Batches that
 * concern the same resources follow each other.
 */
export class BatchQueue {
  /** In order; each is done after those before it. */
  #open: readonly Batch[] = [];
  readonly #mostBytes: number;
  #hasFailed = false;

  /** @param mostBytes more than two batches are under way only where they have at most so many together */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Starts a batch. Resolves when there is room for another one.
   *
   * @param keys the resources that it concerns; undefined: it is written alone
   * @param write gets the end of the batches before it
   * @throws the error of this batch, or of one before it
   */
  async start(
    keys: ReadonlySet<string> | undefined,
    bytes: number,
    write: (before: Promise<void>) => Promise<void>,
  ): Promise<void> {
    if (keys === undefined || this.#hasFailed || this.#isConcerned(keys)) await this.settle();
    const done = write(this.#open.at(-1)?.done ?? Promise.resolve());
    if (keys === undefined) return done;
    // Those that wait for it receive its failure.
    done.catch(() => (this.#hasFailed = true));
    this.#open = [...this.#open, { keys, bytes, done }];
    while (this.#isFull) {
      await this.#open[0]!.done;
      this.#open = this.#open.slice(1);
    }
  }

  /** Waits for all batches. @throws the error of one of them */
  async settle(): Promise<void> {
    const last = this.#open.at(-1);
    this.#open = [];
    await last?.done;
  }

  get #isFull(): boolean {
    const bytes = this.#open.reduce((sum, batch) => sum + batch.bytes, 0);
    return this.#open.length >= (bytes > this.#mostBytes ? 2 : MOST_BATCHES);
  }

  #isConcerned(keys: ReadonlySet<string>): boolean {
    return this.#open.some((batch) => [...keys].some((key) => batch.keys.has(key)));
  }
}

/** Under way at a time. */
const MOST_BATCHES = 4;
