import { onTestFinished, vi } from 'vitest';

/** Time that passes only when a test says so. */
export interface StoppedClock {
  /** Lets so many milliseconds pass, with the timers that end in them. */
  pass(milliseconds: number): Promise<void>;
  /** Lets time pass by itself again. */
  start(): void;
}

/** Stops `performance.now()`, the timers of this thread and `AbortSignal.timeout` until the test ends. */
export function stopClock(): StoppedClock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  // The native one does not know the fake timers.
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The time is over', 'TimeoutError')), milliseconds);
    return controller.signal;
  });
  const start = (): void => {
    timeout.mockRestore();
    vi.useRealTimers();
  };
  onTestFinished(start);
  return {
    async pass(milliseconds) {
      await vi.advanceTimersByTimeAsync(milliseconds);
    },
    start,
  };
}
