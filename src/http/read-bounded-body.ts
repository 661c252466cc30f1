import { FhirError } from '../fhir/error.js';
import { concatBytes } from '../platform/concat-bytes.js';
import { directReaderOf, type TakeChunk } from './direct-body.js';
import { HttpRequestError } from './http-request-error.js';

/** Default maximum size of a body: 16 MiB, the default maximum size of a resource in stores. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads the body of a request up to a maximum number of bytes.
 *
 * @throws HttpRequestError 413 - it is longer; 415 - it is compressed
 * @throws FhirError `aborted` - the client went away
 */
export async function readBoundedBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding') ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new HttpRequestError(415, 'The body must not be compressed', { 'accept-encoding': 'identity' });
  }
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLong(maxBytes);
  if (request.bodyUsed) throw new TypeError('The body of the request was read before the handler got it');
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const isWhole = await readChunks(request.body, (chunk) => {
    size += chunk.byteLength;
    chunks.push(chunk);
    return size <= maxBytes;
  });
  if (!isWhole) throw tooLong(maxBytes);
  return chunks.length === 1 ? chunks[0]! : concatBytes(chunks, size);
}

/** @returns false if `take` wanted no more */
async function readChunks(body: ReadableStream<Uint8Array>, take: TakeChunk): Promise<boolean> {
  const reader = body.getReader();
  const direct = directReaderOf(body);
  try {
    if (direct !== undefined) return await direct(take);
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) return true;
      if (take(value)) continue;
      void reader.cancel().catch(() => undefined);
      return false;
    }
  } catch (cause) {
    throw new FhirError('aborted', 'The request ended before its body did', { cause });
  }
}

function tooLong(maxBytes: number): HttpRequestError {
  return new HttpRequestError(413, `The body may be ${maxBytes} bytes long`);
}
