/** The longest delay of a timer, in milliseconds; longer ones fire immediately. */
export const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Lets other work run: waiting input and output first, where the runtime can do that.
 *
 * What waits continues in the order in which it came, in each turn of the event loop until 10 ms are over. Otherwise a
 * turn would take as long as all long loops together, each of which continues for as long as it would alone.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const one: Waiting = { resolve, isOver: false };
    waiting.push(one);
    inNextTurn(() => goOn(one));
  });
}

interface Waiting {
  readonly resolve: () => void;
  isOver: boolean;
}

const waiting: Waiting[] = [];

/** When the first of those that continue in this turn did so. */
let turnStart: number | undefined;

/** The first in line continues, which is nearly always the one that asks. It asks until it was its turn. */
function goOn(asking: Waiting): void {
  if (asking.isOver) return;
  const now = performance.now();
  const used = turnStart === undefined ? undefined : Math.abs(now - turnStart);
  if (used === undefined || used >= LOST_MS) {
    turnStart = now;
    // Before the others of the next turn.
    inNextTurn(() => (turnStart = undefined));
  } else if (used >= TURN_MS) {
    return inNextTurn(() => goOn(asking));
  }
  const first = waiting.shift()!;
  first.isOver = true;
  first.resolve();
  if (!asking.isOver) inNextTurn(() => goOn(asking));
}

const TURN_MS = 10;

/** The end of a turn never came, as where a test of the host replaced the timers. */
const LOST_MS = 1_000;

function inNextTurn(work: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(work);
  else setTimeout(work);
}

/** Waits, but no longer than until the signal fires. Never rejects. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/** A signal that fires with the first of the given ones; undefined if there is no signal. */
export function eitherSignal(one: AbortSignal, other: AbortSignal | undefined): AbortSignal;
export function eitherSignal(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined;
export function eitherSignal(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one === undefined || other === undefined || one === other ? (one ?? other) : AbortSignal.any([one, other]);
}
