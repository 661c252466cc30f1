/** How long a store that answers no searches and commits may keep resources that another process has removed. */
export const REMOVAL_TUNING = { watchMs: 5_000 };

/** Looks from time to time whether other processes have removed content, as long as some is remembered. */
export class RemovalWatch {
  readonly #look: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param look drops removed data from the caches; false: everything was dropped */
  constructor(look: () => boolean) {
    this.#look = look;
  }

  /** Something is remembered. */
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
