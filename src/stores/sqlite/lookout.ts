/** Only tests change it. */
export const LOOKOUT_TUNING = {
  /** How long a store without searches and commits may keep resources that another process has removed. */
  removalMs: 5_000,
  /** How long a commit of another process may be without its watchers. */
  commitMs: 50,
};

/** Looks from time to time at what other processes have done, while there is a reason to. */
export class Lookout {
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param look returns false if there is no reason to look again */
  constructor(
    private readonly pause: keyof typeof LOOKOUT_TUNING,
    private readonly look: () => boolean,
  ) {}

  /** Called when there is a reason. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.look()) this.start();
    }, LOOKOUT_TUNING[this.pause]).unref();
  }

  stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
