import type { SentWrite, WritePart } from './protocol.js';
import { THREAD_TUNING } from '../database/tuning.js';

/**
 * The parts of a commit that waits for its thread: the first ones are made while it waits, so that the thread need not wait for
 * them.
 *
 * @param make makes all parts from the start; called again for a second thread
 */
export function madeAhead(make: () => AsyncGenerator<WritePart>): () => AsyncIterable<WritePart> {
  let first: EarlyParts | undefined = new EarlyParts(make());
  return () => {
    const parts = first?.take() ?? make();
    first = undefined;
    return parts;
  };
}

class EarlyParts {
  readonly #made: WritePart[] = [];
  readonly #filled: Promise<void>;
  #isTaken = false;

  constructor(private readonly source: AsyncGenerator<WritePart>) {
    this.#filled = this.#fill();
    // The error reaches the caller when the parts are taken.
    this.#filled.catch(() => undefined);
  }

  async *take(): AsyncGenerator<WritePart> {
    this.#isTaken = true;
    await this.#filled;
    for (let part = this.#made.shift(); part !== undefined; part = this.#made.shift()) yield part;
    yield* this.source;
  }

  async #fill(): Promise<void> {
    for (let size = 0; size < THREAD_TUNING.ahead && !this.#isTaken;) {
      const { done, value } = await this.source.next();
      if (done === true) return;
      this.#made.push(value);
      size += sizeOf(value);
    }
  }
}

/** Characters and numbers of a part. */
export function sizeOf({ writes, entries }: WritePart): number {
  let size = entries.numbers.length;
  for (const write of writes) size += textOf(write).length;
  return size;
}

function textOf(write: SentWrite): string {
  return 'kind' in write ? '' : write[3];
}
