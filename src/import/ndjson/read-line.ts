import type { GuardedKey } from '../../access/contract.js';
import { FhirError } from '../../fhir/error.js';
import { assertFewValues } from '../../fhir/json/json-values.js';
import { parseJson } from '../../fhir/json/parse-json.js';
import { parseReference } from '../../fhir/reference.js';
import { type AnyResource, DEFAULT_RESOURCE_VALUES, elementsOf, isJsonObject } from '../../fhir/resource.js';
import { concatBytes } from '../../platform/bytes.js';
import { randomId } from '../../platform/crypto.js';
import { MAX_RESOURCE_BYTES } from '../../store/json-text.js';
import { abortable } from '../session.js';
import { checkResource } from '../entries/check-resource.js';
import type { WantedPut } from '../write.js';
import type { NdjsonContext } from './ndjson-types.js';

/** The request of a line: a resource to store, or resources to delete. */
export type Wanted = { readonly put: WantedPut } | { readonly deletes: readonly GuardedKey[] };

/**
 * @returns undefined for a blank line
 * @throws FhirError `too-costly` - the line has more values than a resource may have; `invalid`
 */
export function readLine(bytes: Uint8Array, context: NdjsonContext): Wanted | undefined {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  assertFewValues(text, context.store.maxResourceValues ?? DEFAULT_RESOURCE_VALUES, 'The line');
  return wantedOf(parseJson(text), context);
}

/** The error of a line that is longer than the import reads. @param limit in bytes */
export function lineTooLong(limit: number): FhirError {
  const hint = limit < MAX_RESOURCE_BYTES ? '; raise maxLineBytes to import it' : ', the most that a resource may have';
  return new FhirError('too-costly', `The line is longer than ${limit} bytes${hint}`);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new FhirError('invalid', 'The line is not valid UTF-8', { cause });
  }
}

function wantedOf(value: unknown, context: NdjsonContext): Wanted {
  const resource = checkResource(context.store.model, value);
  const deletes = context.deletions === true ? deletionsOf(resource) : undefined;
  if (deletes !== undefined) return { deletes };
  const { resourceType: type, id } = resource;
  if (id !== undefined) return { put: { key: { type, id }, resource } };
  return { put: { key: { type, id: randomId() }, resource, expect: { version: null }, generatedId: true } };
}

/**
 * The resources that a line deletes; undefined for any other line.
 *
 * ```
 * { resourceType: 'Bundle', type: 'transaction', entry: [{ request: { method: 'DELETE', url: 'Patient/1' } }] }
 * ```
 *
 * See https://hl7.org/fhir/uv/bulkdata/export.html (`deleted`).
 */
function deletionsOf(resource: AnyResource): readonly GuardedKey[] | undefined {
  const { resourceType, id, type, entry } = elementsOf(resource);
  if (resourceType !== 'Bundle' || id !== undefined || type !== 'transaction') return undefined;
  if (!Array.isArray(entry) || entry.length === 0) return undefined;
  const keys = entry.map(deletedBy);
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

function deletedBy(entry: unknown): GuardedKey | undefined {
  const request = isJsonObject(entry) && entry['resource'] === undefined ? entry['request'] : undefined;
  if (!isJsonObject(request) || request['method'] !== 'DELETE' || typeof request['url'] !== 'string') return undefined;
  const target = parseReference(request['url']);
  return target?.kind === 'local' && target.version === undefined ? { type: target.type, id: target.id } : undefined;
}

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
