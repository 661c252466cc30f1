import { FhirError } from '../../fhir/error.js';
import { assertFewValues } from '../../fhir/json/json-values.js';
import { parseJson } from '../../fhir/json/parse-json.js';
import { quote } from '../../fhir/messages.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import {
  type AnyResource,
  DEFAULT_RESOURCE_VALUES,
  isJsonObject,
  isResourceId,
  type JsonObject,
  versionOfEntityTag,
} from '../../fhir/resource.js';
import { decodeBase64 } from '../../platform/bytes.js';
import type { Pace } from '../../platform/pace.js';
import { type CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import { resourceFromHost } from './check-resource.js';
import { EntryFaults } from './entry-outcome.js';

/**
 * One entry of a Bundle, read and checked on its own.
 *
 * PERF (import-rate): a class instance, not an object literal. If the objects of a literal survive a collection, as entries do while
 * their Bundle is written, V8 allocates later ones in its old generation, where each keeps its resource until a full
 * collection. V8 does not do that with instances, so every object that holds a resource or its text is an instance.
 */
export class BundleEntry {
  constructor(
    /** Position in `Bundle.entry`, from 0. */
    readonly index: number,
    readonly request: EntryRequest,
    readonly fullUrl: string | undefined,
    /** Present for POST and PUT. */
    readonly resource: AnyResource | undefined,
    /** Search text of a conditional create. */
    readonly ifNoneExist: string | undefined,
    /** The version that must be current. */
    readonly ifMatch: string | undefined,
    /** The version the sender has already; `*` for any. */
    readonly ifNoneMatch: string | undefined,
    /** Present for PATCH: the operations of a JSON Patch, not checked yet. */
    readonly patch?: unknown,
  ) {}
}

/** The requests of a Bundle; unreadable entries are in `faults` instead. */
export interface BundleContent {
  readonly type: 'transaction' | 'batch';
  /** Number of entries, faulty ones included. */
  readonly size: number;
  /** Those without a fault. If `faults` of a transaction are full, the entries after them were not read. */
  readonly entries: readonly BundleEntry[];
  readonly faults: EntryFaults;
}

/**
 * Reads a Bundle entry by entry.
 *
 * @throws FhirError `invalid` - not a Bundle, or one that is not a list of requests (`collection`, `searchset` …)
 * @throws FhirError `aborted` - by the signal of the options
 */
export async function readBundle(
  model: FhirModel,
  bundle: unknown,
  baseUrl: string | undefined,
  options: CallOptions,
): Promise<BundleContent> {
  if (!isJsonObject(bundle) || bundle['resourceType'] !== 'Bundle') {
    throw new FhirError('invalid', 'Expected a Bundle: a JSON object with "resourceType": "Bundle"');
  }
  const { type, entry = [] } = bundle;
  if (type !== 'transaction' && type !== 'batch') {
    const given = typeof type === 'string' ? `${quote(type)}` : 'none';
    throw new FhirError(
      'invalid',
      `Only Bundles of type "transaction" and "batch" can be imported; the type is ${given}`,
    );
  }
  if (!Array.isArray(entry)) throw new FhirError('invalid', 'Bundle.entry must be an array');

  const faults = new EntryFaults();
  const entries: BundleEntry[] = [];
  const pace = new CallPace(options);
  for (let index = 0; index < entry.length; index++) {
    if (pace.isSpent) await pace.next();
    faults.guard(index, () => entries.push(readEntry(model, entry[index], index, baseUrl)));
    // An error takes about ten times as long as a good entry, because it has a stack.
    if (type === 'transaction' && faults.isFull) break;
  }
  await refuseSharedFullUrls(entries, faults, pace);
  return { type, size: entry.length, entries: entries.filter(({ index }) => !faults.has(index)), faults };
}

function readEntry(model: FhirModel, value: unknown, index: number, baseUrl: string | undefined): BundleEntry {
  if (!isJsonObject(value)) throw new FhirError('invalid', 'The entry must be an object');
  const request = value['request'];
  if (!isJsonObject(request)) throw new FhirError('invalid', 'The entry needs "request" with method and url');
  const parsed = parseEntryRequest(model, request['method'], request['url'], baseUrl);
  const writes = parsed.method === 'POST' || parsed.method === 'PUT';
  const entry = new BundleEntry(
    index,
    parsed,
    optionalText(value, 'fullUrl'),
    writes ? resourceFromHost(model, value['resource']) : undefined,
    parsed.method === 'POST' ? optionalText(request, 'ifNoneExist') : undefined,
    version(optionalText(request, 'ifMatch'), 'ifMatch'),
    version(optionalText(request, 'ifNoneMatch'), 'ifNoneMatch'),
    parsed.method === 'PATCH' ? patchOf(value['resource']) : undefined,
  );
  agreeWithRequest(entry);
  return entry;
}

/**
 * The JSON Patch of an entry: the content of a Binary. See https://hl7.org/fhir/R4/http.html#patch.
 *
 * @throws FhirError `invalid`
 */
function patchOf(resource: unknown): unknown {
  const { resourceType, contentType, data } = isJsonObject(resource) ? resource : {};
  const bytes = typeof data === 'string' ? decodeBase64(data) : undefined;
  if (resourceType !== 'Binary' || contentType !== 'application/json-patch+json' || bytes === undefined) {
    throw new FhirError('invalid', 'The resource of a PATCH is a Binary with contentType application/json-patch+json');
  }
  const text = new TextDecoder().decode(bytes);
  assertFewValues(text, DEFAULT_RESOURCE_VALUES, 'The patch');
  return parseJson(text);
}

function optionalText(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new FhirError('invalid', `"${name}" of the entry must be a string`);
}

/** `W/"3"` and `"3"` are version 3. See https://hl7.org/fhir/R4/http.html#versioning. */
function version(etag: string | undefined, name: string): string | undefined {
  if (etag === undefined || (etag === '*' && name === 'ifNoneMatch')) return etag;
  const id = versionOfEntityTag(etag);
  if (id !== undefined) return id;
  throw new FhirError('invalid', `"${name}" of the entry must be an entity tag such as W/"3"`);
}

function agreeWithRequest({ request, resource }: BundleEntry): void {
  if (resource === undefined) return;
  if (resource.resourceType !== request.type) {
    throw new FhirError('invalid', `request.url names ${request.type}, the resource is a ${resource.resourceType}`);
  }
  if (request.id !== undefined && resource.id !== undefined && request.id !== resource.id) {
    throw new FhirError('invalid', `request.url names id "${request.id}", the resource has id "${resource.id}"`);
  }
}

/** A fullUrl is the identity of an entry inside its Bundle. See https://hl7.org/fhir/R4/bundle.html#bundle-unique. */
async function refuseSharedFullUrls(entries: readonly BundleEntry[], faults: EntryFaults, pace: Pace): Promise<void> {
  const holders = new Map<string, number>();
  for (const { index, fullUrl, resource } of entries) {
    if (pace.isSpent) await pace.next();
    if (fullUrl === undefined || resource === undefined) continue;
    const holder = holders.get(fullUrl);
    if (holder === undefined) holders.set(fullUrl, index);
    else faults.add(index, new FhirError('invalid', `The entry has the same fullUrl as entry ${holder}`));
  }
}

/**
 * A parsed `Bundle.entry.request`. See https://hl7.org/fhir/R4/bundle-definitions.html#Bundle.entry.request.
 *
 * | text | method | rest |
 * |---|---|---|
 * | `POST Patient` | POST | type |
 * | `PUT Patient/1`, `DELETE Patient/1`, `GET Patient/1` | | type, id |
 * | `GET Patient/1/_history/2` | GET | type, id, version |
 * | `PATCH Patient/1`, `PATCH Patient?identifier=x` | PATCH | as PUT |
 * | `PUT Patient?identifier=x`, `DELETE …`, `GET …` | | type, query |
 * | `GET Patient/1?_elements=id` | GET | type, id, query |
 * | `GET Patient/1/_history?_count=2`, `GET Patient/_history` | GET | type, id, history, query |
 */
export interface EntryRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET' | 'HEAD';
  readonly type: string;
  readonly id?: string;
  readonly version?: string;
  /** The history of the resource, or of the type without `id`. */
  readonly history?: true;
  /**
   * Search text without the question mark; empty for a search without parameters. For other reads: their parameters.
   */
  readonly query?: string;
}

/**
 * @param baseUrl the service's own base, without a slash at its end; request URLs may carry it
 * @throws FhirError `invalid`; `not-found` for an unknown type; `unsupported` for operations
 */
export function parseEntryRequest(
  model: FhirModel,
  method: unknown,
  url: unknown,
  baseUrl: string | undefined,
): EntryRequest {
  if (typeof method !== 'string') throw new FhirError('invalid', 'The entry needs request.method');
  if (!isMethod(method)) throw new FhirError('invalid', `Unknown request.method ${quote(method)}`);
  if (typeof url !== 'string') throw new FhirError('invalid', 'The entry needs request.url');

  const local = withoutBase(url, baseUrl);
  const mark = local.indexOf('?');
  const path = mark === -1 ? local : local.slice(0, mark);
  const segments = path.split('/');
  const history = isMethod(method) && isRead(method) && segments.length > 1 && segments.at(-1) === '_history';
  const [type = '', id, keyword, version, ...rest] = history ? segments.slice(0, -1) : segments;
  if (path.includes('$')) throw new FhirError('unsupported', 'Operations inside a Bundle are not supported');
  if (!model.isResourceType(type))
    throw new FhirError('not-found', `request.url names no known resource type: ${quote(url)}`);
  const query = mark === -1 ? undefined : local.slice(mark + 1);
  const wellFormed =
    rest.length === 0 &&
    (id === undefined || (isResourceId(id) && (query === undefined || isRead(method)))) &&
    (keyword === undefined || (keyword === '_history' && isResourceId(version)));
  const request: EntryRequest = {
    method,
    type,
    ...(id === undefined ? {} : { id }),
    ...(version === undefined ? {} : { version }),
    ...(history ? { history } : {}),
    ...(query !== undefined ? { query } : id === undefined && isRead(method) ? { query: '' } : {}),
  };
  if (!wellFormed || !FORMS[method](request)) {
    throw new FhirError('invalid', `${method} does not fit request.url ${quote(url)}; expected ${EXPECTED[method]}`);
  }
  return request;
}

type Method = EntryRequest['method'];

const FORMS: { readonly [method in Method]: (request: EntryRequest) => boolean } = {
  POST: ({ id, query }) => id === undefined && query === undefined,
  PUT: isChangeForm,
  PATCH: isChangeForm,
  DELETE: isChangeForm,
  GET: isReadForm,
  HEAD: isReadForm,
};

const READ_FORMS = '"Type/id", "Type/id/_history", "Type/id/_history/version" or "Type?query"';

const EXPECTED: { readonly [method in Method]: string } = {
  POST: '"Type"',
  PUT: '"Type/id" or "Type?query"',
  PATCH: '"Type/id" or "Type?query"',
  DELETE: '"Type/id" or "Type?query"',
  GET: READ_FORMS,
  HEAD: READ_FORMS,
};

function isChangeForm({ id, query, version }: EntryRequest): boolean {
  return version === undefined && (id !== undefined || query !== undefined);
}

/** A version has no history and no parameters. */
function isReadForm({ version, history, query }: EntryRequest): boolean {
  return version === undefined || (history === undefined && query === undefined);
}

function isMethod(method: string): method is Method {
  return Object.hasOwn(FORMS, method);
}

function isRead(method: Method): boolean {
  return method === 'GET' || method === 'HEAD';
}

function withoutBase(url: string, base: string | undefined): string {
  if (base !== undefined && url.startsWith(`${base}/`)) return url.slice(base.length + 1);
  return url.startsWith('/') ? url.slice(1) : url;
}
