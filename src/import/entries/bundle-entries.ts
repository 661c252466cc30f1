import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { quote } from '../../fhir/messages/quote.js';
import { versionOfEntityTag } from '../../fhir/entity-tag.js';
import { FhirError } from '../../fhir/error.js';
import { type AnyResource, isJsonObject, type JsonObject } from '../../fhir/resource.js';
import type { Pace } from '../../platform/pace.js';
import { CallPace } from '../../store/call-pace.js';
import type { CallOptions } from '../../store/call-options.js';
import { resourceFromHost } from './check-resource.js';
import { EntryFaults } from './entry-faults.js';
import { type EntryRequest, parseEntryRequest } from './entry-request.js';

/**
 * One entry of a Bundle, read and checked on its own.
 *
 * PERF: a class instance, not an object literal. If the objects of a literal survive a collection, as entries do while
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
    // PERF: an error takes about ten times as long as a good entry, because it has a stack.
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
  );
  agreeWithRequest(entry);
  return entry;
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
