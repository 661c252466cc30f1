import { FhirError } from '../fhir/error.js';
import { concatBytes } from '../platform/concat-bytes.js';
import { HttpRequestError } from './http-request-error.js';

/** The longest body by default: 16 MiB, as no store takes a longer resource by default. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads the body of a request, at most so many bytes of it.
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
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = await read(reader);
    if (chunk === undefined) return chunks.length === 1 ? chunks[0]! : concatBytes(chunks, size);
    size += chunk.byteLength;
    if (size > maxBytes) {
      void reader.cancel().catch(() => undefined);
      throw tooLong(maxBytes);
    }
    chunks.push(chunk);
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return (await reader.read()).value;
  } catch (cause) {
    throw new FhirError('aborted', 'The request ended before its body did', { cause });
  }
}

function tooLong(maxBytes: number): HttpRequestError {
  return new HttpRequestError(413, `The body may be ${maxBytes} bytes long`);
}
