/** A batch that is being written. */
interface Batch {
  readonly keys: ReadonlySet<string>;
  readonly bytes: number;
  readonly done: Promise<void>;
}

/**
 * Writes batches in order, a few at once: the process makes the rows of some while the database writes those of another. A batch
 * waits for those before it that concern the same resources, and others may pass it.
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
   * @param write gets the end of the batches before it, and of the last one that it must follow
   * @throws the error of this batch, or of one before it
   */
  async start(
    keys: ReadonlySet<string> | undefined,
    bytes: number,
    write: (before: Promise<void>, concerned: Promise<void>) => Promise<void>,
  ): Promise<void> {
    if (keys === undefined || this.#hasFailed) await this.settle();
    const done = write(endOf(this.#open.at(-1)), endOf(this.#lastOf(keys)));
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

  /** The last batch under way that concerns one of these resources. */
  #lastOf(keys: ReadonlySet<string> = new Set()): Batch | undefined {
    return this.#open.findLast((batch) => [...keys].some((key) => batch.keys.has(key)));
  }
}

function endOf(batch: Batch | undefined): Promise<void> {
  return batch?.done ?? Promise.resolve();
}

/** Under way at a time. */
const MOST_BATCHES = 4;
