import { LOOP_TURN } from './loop-turn.js';

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
  // PERF: `entries()` makes three objects for each item.
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
