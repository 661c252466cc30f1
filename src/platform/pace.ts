/**
 * Lets other work run between the steps of a long loop.
 *
 * @example
 * for (const entry of entries) {
 *   if (pace.isSpent) await pace.next();
 */
export class Pace {
  constructor() {
    // The turn includes the first step.
    void this.isSpent;
  }

  /** Checked at each step, because one step may take as long as a thousand others. */
  get isSpent(): boolean {
    return LOOP_TURN.isSpent;
  }

  next(): Promise<void> {
    return LOOP_TURN.next();
  }
}

/** The pace of work that takes whole turns, such as an import. Other work that waits passes it. */
export class LongPace extends Pace {
  override next(): Promise<void> {
    return LOOP_TURN.nextOfLong();
  }
}

/** Maps a long list; other work runs between its items. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  pace: Pick<Pace, 'isSpent' | 'next'>,
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  // `entries()` makes three objects for each item.
  for (let index = 0; index < items.length; index++) {
    if (pace.isSpent) await pace.next();
    results.push(map(items[index]!, index));
  }
  return results;
}

/** Runs work that yields between its steps, and lets other work run there. */
export async function inTurns<Result>(
  work: Generator<void, Result>,
  pace: Pick<Pace, 'isSpent' | 'next'>,
): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (pace.isSpent) await pace.next();
  }
}

/** Runs the same work without pauses. */
export function inOneGo<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

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
  readonly #begun: (() => void)[] = [];
  readonly #brief: (() => void)[] = [];
  readonly #long: (() => void)[] = [];
  /** How many other calls have passed the first long one. */
  #passed = 0;
  /** Whether the last call to get a turn had begun before. */
  #wasBegun = false;
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

  /**
   * The same for a request that has done a part of its work: it shares turns equally with all calls that have not begun.
   * Otherwise it would wait behind all of them after each part.
   */
  nextOfBegun(): Promise<void> {
    return this.#wait(this.#begun);
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
    const others = this.#begun.length + this.#brief.length;
    const isLongDue = this.#long.length > 0 && (others === 0 || this.#passed >= MAX_PASSED);
    this.#passed = isLongDue ? 0 : this.#passed + 1;
    if (isLongDue) return this.#long.shift()!;
    this.#wasBegun = this.#begun.length > 0 && (this.#brief.length === 0 || !this.#wasBegun);
    return (this.#wasBegun ? this.#begun : this.#brief).shift()!;
  }
}

export const LOOP_TURN = new LoopTurn();

/** How many other calls pass a long one at most, so that a flood of reads does not stop an import. */
const MAX_PASSED = 32;
