import { setTimeout as delay } from 'node:timers/promises';
import type { FhirError } from '../../fhir/error.js';

/** The result of a step: more work remains, the rest must wait for another process, or all is done. */
export type StepResult = 'more' | 'later' | 'done';

export type Step = (signal: AbortSignal) => StepResult | Promise<StepResult>;

/**
 * Runs work in the background of a store's calls, step by step, until nothing is left.
 *
 * After each step it pauses as long as the step took, so it uses at most half of the time. It does not keep the process
 * alive. Failed steps are retried with growing pauses; the first failure of each kind emits a process warning.
 */
export class BackgroundWork {
  readonly #controller = new AbortController();
  #running: Promise<void> | undefined;
  /** Why the last step failed; undefined if it succeeded. */
  #lastError: FhirError | undefined;

  /**
   * @param name the work that the warning reports as failed
   * @param faultOf what an error means to the store
   */
  constructor(
    private readonly name: string,
    private readonly step: Step,
    private readonly faultOf: (error: unknown) => FhirError,
  ) {}

  /** Starts the work unless it is already running. */
  start(): void {
    if (this.#running !== undefined || this.#controller.signal.aborted) return;
    this.#running = this.#run().finally(() => (this.#running = undefined));
  }

  /** Settles when no step is running and none will start. */
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
        const result = await this.step(signal);
        if (result === 'done') return;
        pause = result === 'later' ? LATER_MS : performance.now() - start;
        failures = 0;
        this.#lastError = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#report(this.faultOf(error));
        pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++);
      }
    }
  }

  #report(error: FhirError): void {
    if (this.#lastError?.message !== error.message) {
      process.emitWarning(`${this.name}: ${error.message}`, { code: 'FHIRGRAPH_INDEX' });
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
