import { FhirError } from '../fhir/error.js';
import { eitherSignal } from '../platform/runtime.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { concatBytes } from '../platform/bytes.js';

export interface RemoteRequest {
  /** Below the base: `ValueSet/$expand`. */
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  /** Sent by POST. Default: none, and GET. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

export interface RemoteAnswer {
  readonly status: number;
  /** Undefined for anything but a JSON object. */
  readonly body: JsonObject | undefined;
}

interface RemoteClientOptions {
  readonly base: string;
  readonly headers?: Headers | (() => Headers | Promise<Headers>) | undefined;
  readonly timeout?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
}

interface Headers {
  readonly [name: string]: string;
}

/**
 * Asks one server, and no other: redirects are refused. Time and size are bounded.
 *
 * @throws FhirError `unavailable` - no answer in time, one that is too large, or a redirect
 */
export function remoteClient(options: RemoteClientOptions): (request: RemoteRequest) => Promise<RemoteAnswer> {
  const { base, headers = {}, timeout = 5_000, maxBytes = 10 * 1024 * 1024 } = options;
  return async ({ path, query = {}, body, signal }) => {
    const search = new URLSearchParams(query).toString();
    const timer = AbortSignal.timeout(timeout);
    try {
      const response = await (options.fetch ?? fetch)(`${base}/${path}${search === '' ? '' : `?${search}`}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/fhir+json',
          ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }),
          ...(typeof headers === 'function' ? await headers() : headers),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: eitherSignal(timer, signal),
      });
      if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
        await response.body?.cancel();
        throw new FhirError('unavailable', 'The terminology server redirects elsewhere, which is not followed');
      }
      return { status: response.status, body: parsed(await readText(response, maxBytes)) };
    } catch (error) {
      if (error instanceof FhirError) throw error;
      const reason = timer.aborted ? `does not answer within ${timeout} ms` : 'cannot be reached';
      throw new FhirError('unavailable', `The terminology server ${reason}; try again`, { cause: error });
    }
  };
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Some runtimes cannot iterate a stream.
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    size += read.value.byteLength;
    if (size > maxBytes) {
      await reader!.cancel();
      throw new FhirError('unavailable', `The terminology server answered more than ${maxBytes} bytes`);
    }
    chunks.push(read.value);
  }
  return new TextDecoder().decode(concatBytes(chunks, size));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
