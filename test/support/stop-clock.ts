import { onTestFinished, vi } from 'vitest';

/** Time that passes only when a test says so. */
export interface StoppedClock {
  /** Advances the time by so many milliseconds, and runs the timers that are due. */
  pass(milliseconds: number): Promise<void>;
  /** Lets time run normally again. */
  start(): void;
}

/** Stops `performance.now()`, the timers of this thread and `AbortSignal.timeout` until the test ends. */
export function stopClock(): StoppedClock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  // The native function ignores the fake timers.
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
