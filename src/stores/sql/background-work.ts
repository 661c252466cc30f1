import { setTimeout as delay } from 'node:timers/promises';
import { type FhirError, maskError } from '../../fhir/error.js';

/** What a part of some work came to: there is more to do, it has to wait for somebody, or nothing is left. */
export type StepResult = 'more' | 'later' | 'done';

export type Step = (signal: AbortSignal) => StepResult | Promise<StepResult>;

/**
 * Work beside the calls of a store, part by part, until nothing is left.
 *
 * After each part it pauses as long as the part took, so that it never has more than half of the time. It keeps no process
 * alive. A part that fails is tried again, after longer and longer pauses; the first failure of a kind is a process warning.
 */
export class BackgroundWork {
  readonly #controller = new AbortController();
  readonly #name: string;
  readonly #step: Step;
  #running: Promise<void> | undefined;
  #lastError: FhirError | undefined;

  /** @param name what the warning says that could not be done */
  constructor(name: string, step: Step) {
    this.#name = name;
    this.#step = step;
  }

  /** Why the last part failed; undefined where it did not. */
  get lastError(): FhirError | undefined {
    return this.#lastError;
  }

  /** Begins, unless it is at work. */
  start(): void {
    if (this.#running !== undefined || this.#controller.signal.aborted) return;
    this.#running = this.#run().finally(() => (this.#running = undefined));
  }

  /** Settles when no part is at work any more, and none will be. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#controller;
    let failures = 0;
    let pause = 0;
    for (;;) {
      if (!(await waits(pause, signal))) return;
      const start = performance.now();
      try {
        const result = await this.#step(signal);
        if (result === 'done') return;
        pause = result === 'later' ? LATER_MS : performance.now() - start;
        failures = 0;
        this.#lastError = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#report(maskError(error));
        pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++);
      }
    }
  }

  #report(error: FhirError): void {
    if (this.#lastError?.message !== error.message) {
      process.emitWarning(`${this.#name}: ${error.message}`, { code: 'FHIRGRAPH_INDEX' });
    }
    this.#lastError = error;
  }
}

const LATER_MS = 50;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 60_000;

/** @returns false if the signal was aborted during the wait */
async function waits(time: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(time, undefined, { signal, ref: false });
    return true;
  } catch {
    return false;
  }
}
