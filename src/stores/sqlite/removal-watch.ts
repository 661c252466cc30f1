/** How long a store without searches and commits may keep resources that another process has removed. */
export const REMOVAL_TUNING = { watchMs: 5_000 };

/** Checks from time to time whether other processes have removed content, as long as the caches hold some. */
export class RemovalWatch {
  readonly #look: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param look drops removed data from the caches; returns false if it dropped everything */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  /** Called when a cache holds content. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#look()) this.start();
    }, REMOVAL_TUNING.watchMs).unref();
  }

  stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
