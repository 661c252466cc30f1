import { FhirError } from '../../fhir/error.js';
import { abortable } from '../abortable.js';

/** A source of NDJSON: text or UTF-8 bytes in pieces of any size, or all in one string. */
export type NdjsonSource =
  | AsyncIterable<string | Uint8Array>
  | Iterable<string | Uint8Array>
  | ReadableStream<string | Uint8Array>
  | string
  | Uint8Array;

/** Maximum piece of a string encoded at once, in UTF-16 units. */
const PIECE = 1 << 16;

/**
 * The source as chunks of UTF-8 bytes, read on demand.
 *
 * Ends early when the signal aborts, even while waiting for the source; the source is always closed.
 *
 * @throws FhirError `invalid` - the source, or a chunk of it, is neither text nor bytes
 * @throws FhirError `aborted`
 */
export async function* byteChunks(
  source: NdjsonSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  let half = '';
  for await (const chunk of abortable(iterate(source), signal)) {
    if (typeof chunk !== 'string') {
      if (!(chunk instanceof Uint8Array)) throw notNdjson();
      yield chunk;
      continue;
    }
    for (let start = 0; start < chunk.length; start += PIECE) {
      const text = half + chunk.slice(start, start + PIECE);
      // A surrogate pair may be split; its first unit waits for the second.
      half = /[\uD800-\uDBFF]$/.test(text) ? text.slice(-1) : '';
      yield encoder.encode(half === '' ? text : text.slice(0, -1));
    }
  }
  if (half !== '') yield encoder.encode(half);
}

type Chunks = AsyncIterator<string | Uint8Array> | Iterator<string | Uint8Array>;

function iterate(source: NdjsonSource): Chunks {
  if (typeof source === 'string' || source instanceof Uint8Array) return [source][Symbol.iterator]();
  if (typeof source === 'object' && source !== null) {
    // Node's ReadableStream is async iterable, whatever the DOM's types say.
    if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
    if (Symbol.iterator in source) return source[Symbol.iterator]();
  }
  throw notNdjson();
}

function notNdjson(): FhirError {
  return new FhirError('invalid', 'NDJSON must come as a string, bytes, a stream or an iterable of strings or bytes');
}
