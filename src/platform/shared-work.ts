import { nextTurn } from './runtime.js';

/** Concurrent calls with the same key share one run of the work. A failure is not cached. */
export function shared<Result>(
  running: Map<string, Promise<Result>>,
  key: string,
  work: () => Promise<Result>,
): Promise<Result> {
  let result = running.get(key);
  if (result === undefined) {
    result = work().finally(() => running.delete(key));
    running.set(key, result);
  }
  return result;
}

/**
 * Code that a process loads on first use.
 *
 * Other work runs after loading: modules take tens of milliseconds to load, and about as long to run for the first
 * time. If loading fails, the next use tries again.
 *
 * @example
 * const loadWriting = onFirstUse(() => import('./write.js'));
 */
export function onFirstUse<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loading: Promise<Module> | undefined;
  const start = async (): Promise<Module> => {
    try {
      const loaded = await load();
      await nextTurn();
      return loaded;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  return () => (loading ??= start());
}

/** Work in steps that concurrent calls do together, such as an index that all of them need. */
export class SharedSteps<Result> {
  /** Undefined until the last step is done. */
  result: Result | undefined;
  readonly #steps: Generator<void, Result>;

  constructor(steps: Generator<void, Result>) {
    this.#steps = steps;
  }

  /** Does the steps that are left; other calls may do some of them in between. */
  *finishing(): Generator<void, Result> {
    for (;;) {
      if (this.result !== undefined) return this.result;
      const step = this.#steps.next();
      if (step.done === true) return (this.result = step.value);
      yield;
    }
  }
}
