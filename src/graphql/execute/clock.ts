import { LOOP_TURN } from '../../platform/loop-turn.js';
import { MAX_DELAY_MS } from '../../platform/timers.js';

/** Measures how long a request runs, and ends it in time. Tests use their own. */
export interface Clock {
  /** Milliseconds from any start; never goes back. */
  now(): number;
  /** Whether all requests of the process together have used the event loop long enough. */
  readonly isTurnSpent: boolean;
  /**
   * Calls once after this many milliseconds.
   *
   * @returns a function that cancels the call
   */
  after(milliseconds: number, call: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  get isTurnSpent() {
    return LOOP_TURN.isSpent;
  },
  after(milliseconds, call) {
    const timer = setTimeout(call, Math.min(milliseconds, MAX_DELAY_MS));
    return () => clearTimeout(timer);
  },
};
