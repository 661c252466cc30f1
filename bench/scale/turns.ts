/** Measures the longest turn of the event loop by the CPU time of the main thread, which other processes do not lengthen. */
export class Turns {
  #isWatching = false;
  #last = 0;
  #longest = 0;

  start(): void {
    this.#isWatching = true;
    this.#last = threadCpu();
    setImmediate(() => this.#look());
  }

  /** @returns microseconds */
  stop(): number {
    this.#isWatching = false;
    this.#longest = Math.max(this.#longest, threadCpu() - this.#last);
    return this.#longest;
  }

  #look(): void {
    const now = threadCpu();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
    if (this.#isWatching) setImmediate(() => this.#look());
  }
}

function threadCpu(): number {
  // Linux updates the time of a running thread only for this call.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
