import { onTestFinished, vi } from 'vitest';

/** Time that passes only when a test says so. */
export interface StoppedClock {
  /** Lets so many milliseconds pass, with the timers that end in them. */
  pass(milliseconds: number): Promise<void>;
  /** Lets time pass by itself again. */
  start(): void;
}

/** Stops `performance.now()` and the timers of this thread until the test ends. */
export function stopClock(): StoppedClock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  return {
    async pass(milliseconds) {
      await vi.advanceTimersByTimeAsync(milliseconds);
    },
    start: () => void vi.useRealTimers(),
  };
}
