/** How long paced work runs before the event loop does other work, in milliseconds. Only tests change it. */
export const PACE = { turnMs: 10 };

/** The original function: fake timers of a host's tests would never end a turn that began before them. */
const afterInput: (callback: () => void) => unknown =
  typeof setImmediate === 'function' ? setImmediate : (callback) => setTimeout(callback);

/**
 * The current turn of the event loop, which all paced work of the process shares.
 *
 * Settled promises resume before any input is read, so a hundred calls that each measure their own time would together
 * hold the event loop a hundred times as long.
 */
export class LoopTurn {
  #start: number | undefined;
  /** The waiting calls, in order of arrival. Each has a pending {@link #release}. */
  readonly #brief: (() => void)[] = [];
  readonly #long: (() => void)[] = [];
  /** How many brief calls have passed the first long one. */
  #passed = 0;
  readonly #end = (): void => {
    this.#start = undefined;
  };
  readonly #release = (): void => {
    if (this.isSpent) afterInput(this.#release);
    else this.#takeNext()();
  };

  /** Whether paced work has used the event loop long enough. The first check of a turn starts its clock. */
  get isSpent(): boolean {
    if (this.#start === undefined) {
      this.#start = performance.now();
      afterInput(this.#end);
      return false;
    }
    const used = performance.now() - this.#start;
    // A negative time comes from a test of the host that has replaced the clock.
    return used >= PACE.turnMs || used < 0;
  }

  /** Waits for a turn with time left. */
  next(): Promise<void> {
    return this.#wait(this.#brief);
  }

  /** The same between the parts of a call that takes whole turns, such as an import: other calls pass it. */
  nextOfLong(): Promise<void> {
    return this.#wait(this.#long);
  }

  #wait(queue: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      queue.push(resolve);
      afterInput(this.#release);
    });
  }

  #takeNext(): () => void {
    const isLongDue = this.#long.length > 0 && (this.#brief.length === 0 || this.#passed >= MAX_PASSED);
    this.#passed = isLongDue ? 0 : this.#passed + 1;
    return (isLongDue ? this.#long : this.#brief).shift()!;
  }
}

export const LOOP_TURN = new LoopTurn();

/** How many brief calls pass a long one at most, so that a flood of reads does not stop an import. */
const MAX_PASSED = 32;
