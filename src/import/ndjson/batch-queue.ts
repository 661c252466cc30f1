/** A batch that is being written. */
interface Batch {
  readonly keys: ReadonlySet<string>;
  readonly bytes: number;
  readonly done: Promise<void>;
}

/**
 * Writes batches in order, a few at once: the process prepares the rows of some while the database writes those of
 * another. A batch waits for earlier batches with the same resources; other batches may overtake it.
 */
export class BatchQueue {
  /** In order; each settles after the earlier ones. */
  #open: readonly Batch[] = [];
  readonly #mostBytes: number;
  #hasFailed = false;

  /** @param mostBytes more than two batches are in progress only if they have at most this many bytes together */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /**
   * Starts a batch. Resolves when there is room for another one.
   *
   * @param keys the resources that it concerns; undefined: it is written alone
   * @param write receives two promises: the end of all earlier batches, and the end of the last batch that it must
   * follow
   * @throws the error of this batch, or of an earlier one
   */
  async start(
    keys: ReadonlySet<string> | undefined,
    bytes: number,
    write: (before: Promise<void>, concerned: Promise<void>) => Promise<void>,
  ): Promise<void> {
    if (keys === undefined || this.#hasFailed) await this.settle();
    const done = write(endOf(this.#open.at(-1)), endOf(this.#lastOf(keys)));
    if (keys === undefined) return done;
    // The callers that wait for the import receive the failure.
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

  /** The last batch in progress that has one of these resources. */
  #lastOf(keys: ReadonlySet<string> = new Set()): Batch | undefined {
    return this.#open.findLast((batch) => [...keys].some((key) => batch.keys.has(key)));
  }
}

function endOf(batch: Batch | undefined): Promise<void> {
  return batch?.done ?? Promise.resolve();
}

/** Maximum number of batches in progress. */
const MOST_BATCHES = 4;
