import { concatBytes } from '../../platform/concat-bytes.js';

/** One line of a stream, without its line feed. */
export interface Line {
  /** From 1; blank lines count. */
  readonly number: number;
  /** Its bytes; undefined for a line that was too long to keep. */
  readonly bytes: Uint8Array | undefined;
}

/**
 * Splits chunks of bytes into lines at each line feed.
 *
 * Buffers at most one unfinished line of `maxLineBytes`. The bytes of a line may be part of the last pushed chunk: use
 * them before the next push.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #number = 1;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that this chunk completes. Take them all before the next push. */
  *push(chunk: Uint8Array): Generator<Line, void> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield this.#complete(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** The last line, when the stream does not end with a line feed. */
  *end(): Generator<Line, void> {
    if (this.#pendingBytes > 0) yield this.#complete(new Uint8Array(0));
  }

  #hold(piece: Uint8Array): void {
    this.#pendingBytes += piece.length;
    // A source may reuse its buffer for the next chunk, so buffered bytes are copied.
    if (this.#pendingBytes <= this.#maxLineBytes) this.#pending.push(piece.slice());
    else this.#pending = [];
  }

  #complete(last: Uint8Array): Line {
    const length = this.#pendingBytes + last.length;
    let bytes: Uint8Array | undefined;
    if (length <= this.#maxLineBytes) {
      bytes = this.#pending.length === 0 ? last : concatBytes([...this.#pending, last], length);
    }
    this.#pending = [];
    this.#pendingBytes = 0;
    return { number: this.#number++, bytes };
  }
}

const LINE_FEED = 0x0a;
