/**
 * A read that concurrent callers share. Each caller gets the result of a read that began after its call, so that it
 * sees all earlier commits. While a read is running, new callers wait for the next one.
 */
export class SharedRead<Result> {
  #running: Promise<Result> | undefined;
  #next: Promise<Result> | undefined;

  constructor(private readonly read: () => Promise<Result>) {}

  get(): Promise<Result> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(ignore, ignore).then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<Result> {
    const running = this.read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}

function ignore(): void {
  // The callers of that read get its error.
}
