import { LRUCache } from 'lru-cache';
import { FhirError } from '../fhir/error.js';
import { quote } from '../fhir/messages.js';
import { isJsonObject, type JsonObject } from '../fhir/resource.js';
import { concatBytes } from '../platform/bytes.js';
import { eitherSignal } from '../platform/runtime.js';
import { type Concept, expansionKey } from '../search/criteria/criteria.js';
import type { ExpansionRequest } from '../search/criteria/value-test.js';
import type { Subsumption, Terminology } from '../store/terminology.js';

/** Options of `remoteTerminology`. */
export interface RemoteTerminologyOptions {
  /** The FHIR base of the terminology server: `https://tx.example/fhir`. */
  readonly url: string;
  /** Headers of every request, such as `authorization`; a function is called for each request. */
  readonly headers?: RemoteHeaders | (() => RemoteHeaders | Promise<RemoteHeaders>) | undefined;
  /** Longest wait for an answer, in milliseconds. Default 5,000. */
  readonly timeout?: number | undefined;
  /** Largest answer, in bytes. Default 10 MiB. */
  readonly maxBytes?: number | undefined;
  /** Maximum number of concepts in one expansion. Default 10,000. */
  readonly maxConcepts?: number | undefined;
  /**
   * How long expansions are kept, in milliseconds. Default 10 minutes; expansions of value sets that are named with a
   * version do not change and stay cached while there is room. 0 disables the cache.
   */
  readonly maxAge?: number | undefined;
  /** Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch | undefined;
}

/** HTTP headers for a terminology server. */
export interface RemoteHeaders {
  readonly [name: string]: string;
}

/** Concepts in all kept expansions together. */
const MAX_KEPT = 200_000;

/**
 * A terminology over a FHIR terminology server: `ValueSet/$expand`, `CodeSystem/$subsumes` and `CodeSystem/$lookup`. See
 * https://hl7.org/fhir/R4/terminology-service.html.
 *
 * The server learns the URLs of value sets and the codes of `:above` and `:below`, but nothing about resources or
 * callers. Redirects are not followed.
 *
 * @throws FhirError `invalid` - `url` is not an http or https URL
 * @example
 * const store = withTerminology(inner, remoteTerminology({ url: 'https://tx.example/fhir' }));
 */
export function remoteTerminology(options: RemoteTerminologyOptions): Terminology {
  const { maxConcepts = 10_000, maxAge = 600_000 } = options;
  const base = baseOf(options.url);
  const ask = remoteClient({ base, ...options });
  const kept = new LRUCache<string, readonly Concept[]>({
    maxSize: MAX_KEPT,
    sizeCalculation: (concepts) => concepts.length + 1,
  });
  const pending = new Map<string, Promise<readonly Concept[]>>();

  const load = async (request: ExpansionRequest, key: string): Promise<readonly Concept[]> => {
    const answer = await ask(expandRequest(request, maxConcepts));
    const concepts = conceptsOf(bodyOf(answer, nameOf(request)), maxConcepts);
    const isFixed = request.kind === 'value-set' && request.url.includes('|');
    if (maxAge > 0) kept.set(key, concepts, isFixed ? {} : { ttl: maxAge });
    return concepts;
  };

  return {
    /** Concurrent equal calls share a request, which no caller's signal ends. */
    expand(request): Promise<readonly Concept[]> {
      const key = expansionKey(request);
      const known = kept.get(key);
      if (known !== undefined) return Promise.resolve(known);
      let loading = pending.get(key);
      if (loading === undefined) {
        loading = load(request, key).finally(() => pending.delete(key));
        pending.set(key, loading);
      }
      return loading;
    },
    async subsumes({ system, codeA, codeB }, { signal }): Promise<Subsumption> {
      const answer = await ask({ path: 'CodeSystem/$subsumes', query: { system, codeA, codeB }, signal });
      const outcome = parameterOf(bodyOf(answer, `code system ${quote(system, 120)}`), 'outcome')?.['valueCode'];
      if (SUBSUMPTIONS.has(outcome)) return outcome as Subsumption;
      throw new FhirError('unavailable', 'The answer of the terminology server to $subsumes has no outcome');
    },
    async lookup({ system, code }, { signal }): Promise<Concept | undefined> {
      const answer = await ask({ path: 'CodeSystem/$lookup', query: { system, code }, signal });
      if (answer.status === 404) return undefined;
      const display = parameterOf(bodyOf(answer, `code system ${quote(system, 120)}`), 'display')?.['valueString'];
      return { system, code, ...(typeof display === 'string' ? { display } : {}) };
    },
  };
}

const SUBSUMPTIONS: ReadonlySet<unknown> = new Set(['equivalent', 'subsumes', 'subsumed-by', 'not-subsumed']);

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol)) return url.replace(/\/$/, '');
  throw new FhirError('invalid', 'The url of a terminology server begins with https:// or http://');
}

/** Above and below are filters of a value set that is sent along. One more than allowed shows that there are more. */
function expandRequest(request: ExpansionRequest, maxConcepts: number): RemoteRequest {
  const count = String(maxConcepts + 1);
  if (request.kind === 'value-set') {
    const bar = request.url.lastIndexOf('|');
    const [url, version] = bar < 0 ? [request.url] : [request.url.slice(0, bar), request.url.slice(bar + 1)];
    return {
      path: 'ValueSet/$expand',
      query: { url: url, count, ...(version === undefined ? {} : { valueSetVersion: version }) },
    };
  }
  const filter = [{ property: 'concept', op: request.kind === 'below' ? 'is-a' : 'generalizes', value: request.code }];
  const compose = { include: [{ system: request.system, filter }] };
  const valueSet = { resourceType: 'ValueSet', status: 'active', compose };
  return {
    path: 'ValueSet/$expand',
    body: {
      resourceType: 'Parameters',
      parameter: [
        { name: 'valueSet', resource: valueSet },
        { name: 'count', valueInteger: maxConcepts + 1 },
      ],
    },
  };
}

function nameOf(request: ExpansionRequest): string {
  return request.kind === 'value-set'
    ? `value set ${quote(request.url, 120)}`
    : `code or code system ${quote(request.system, 120)}`;
}

/** @throws FhirError - the server refused the request; the message omits the server's text, which may quote anything */
function bodyOf({ status, body }: RemoteAnswer, name: string): JsonObject {
  if (status === 200 && body !== undefined) return body;
  const issues = Array.isArray(body?.['issue']) ? (body['issue'] as readonly unknown[]) : [];
  const codes = new Set(issues.map((issue) => (isJsonObject(issue) ? issue['code'] : undefined)));
  if (codes.has('too-costly')) throw new FhirError('too-costly', `The terminology server finds ${name} too large`);
  if (status === 404 || codes.has('not-found')) throw new FhirError('invalid', `Unknown ${name}`);
  if (status === 400 || status === 422 || status === 501 || codes.has('not-supported'))
    throw new FhirError('unsupported', `The terminology server cannot expand ${name} (${status})`);
  throw new FhirError('unavailable', `The terminology server answered ${status}; try again`);
}

/** @throws FhirError `too-costly` - more than allowed, or more than the server sent */
function conceptsOf({ expansion }: JsonObject, maxConcepts: number): readonly Concept[] {
  if (!isJsonObject(expansion))
    throw new FhirError('unavailable', 'The terminology server answered without an expansion');
  const found: Concept[] = [];
  let count = 0;
  const pending = [expansion['contains']];
  for (let list = pending.pop(); list !== undefined; list = pending.pop()) {
    for (const one of Array.isArray(list) ? (list as readonly unknown[]) : []) {
      if (!isJsonObject(one)) continue;
      count += 1;
      if (one['contains'] !== undefined) pending.push(one['contains']);
      const { system, code, display } = one;
      if (one['abstract'] === true || typeof code !== 'string' || code === '') continue;
      found.push({
        ...(typeof system === 'string' ? { system } : {}),
        code,
        ...(typeof display === 'string' ? { display } : {}),
      });
    }
  }
  const total = typeof expansion['total'] === 'number' ? expansion['total'] : count;
  if (found.length <= maxConcepts && total <= count) return found;
  throw new FhirError('too-costly', `A value set has more than ${maxConcepts} codes: name a narrower one`, {
    details: { max: maxConcepts },
  });
}

function parameterOf(body: JsonObject, name: string): JsonObject | undefined {
  const parameters = Array.isArray(body['parameter']) ? (body['parameter'] as readonly unknown[]) : [];
  return parameters.filter(isJsonObject).find((one) => one['name'] === name);
}

interface RemoteRequest {
  /** Below the base: `ValueSet/$expand`. */
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  /** Sent by POST. Default: none, and GET. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

interface RemoteAnswer {
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
function remoteClient(options: RemoteClientOptions): (request: RemoteRequest) => Promise<RemoteAnswer> {
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
