import type { FhirModel } from '../fhir/model/fhir-model.js';
import { assertWholeNumber } from '../fhir/whole-number.js';
import { FhirError } from '../fhir/error.js';
import { isJsonObject } from '../fhir/resource.js';
import type { SortKey } from '../search/criteria/criteria.js';
import type { SearchPosition } from '../search/evaluate/sort.js';
import type { CallOptions } from './call-options.js';
import type { TypeHistoryQuery } from './history.js';
import type { SearchQuery } from './search-query.js';
import type { PutWrite } from './write.js';
import { Pace } from '../platform/pace.js';
import { MAX_DELAY_MS } from '../platform/runtime.js';

/** Throws if the call's `signal` is aborted. @throws FhirError `aborted` */
export function assertNotAborted(options: CallOptions | undefined): void {
  if (options?.signal?.aborted) throw callAborted(options.signal);
}

/** The rejection of a call after its signal is aborted. */
export function callAborted(signal: AbortSignal | undefined): FhirError {
  return new FhirError('aborted', 'The call was ended by its signal', { cause: signal?.reason });
}

/** The rejection of a call after its deadline. */
export function callTimedOut(): FhirError {
  return new FhirError('aborted', 'The call was ended by its deadline', { details: { deadline: true } });
}

/**
 * Throws if the pages of a search by reference hold more resources than the call may return. Called before their texts
 * are read.
 *
 * @throws FhirError `too-costly`
 */
export function assertFewResources(count: number, options: CallOptions | undefined): void {
  const max = options?.maxResources ?? Infinity;
  if (count <= max) return;
  const message = `The search finds more than the ${max} resources that the call may return`;
  throw new FhirError('too-costly', message, { details: { limit: 'maxResources', max } });
}

/** The rejection of every method of a closed store. */
export function storeClosed(): FhirError {
  return new FhirError('unavailable', 'The store is closed', { details: { closed: true } });
}

/**
 * Validates a requested page. `limit` undefined: no limit. @throws FhirError `invalid` - not a whole number from 0 up.
 */
export function pageOf(page: { readonly offset?: number | undefined; readonly limit?: number | undefined }): {
  readonly offset: number;
  readonly limit: number | undefined;
} {
  const { offset = 0, limit } = page;
  assertWholeNumber('offset', offset);
  if (limit !== undefined) assertWholeNumber('limit', limit);
  return { offset, limit };
}

/** The position that bounds a page. */
export interface PageEdge {
  readonly position: SearchPosition;
  /** True for the matches before the position, false for those after it. */
  readonly before: boolean;
}

/**
 * Validates the position that bounds a page; undefined if absent.
 *
 * @throws FhirError `invalid` - two positions, an offset together with `before`, or values that do not fit the sort
 */
export function pageEdgeOf(
  model: FhirModel,
  { type, sort = [], offset, after, before }: SearchQuery,
): PageEdge | undefined {
  const position = after ?? before;
  if (position === undefined) return undefined;
  if (after !== undefined && before !== undefined)
    throw new FhirError('invalid', 'A page takes after or before, not both');
  if (before !== undefined && offset !== undefined && offset !== 0) {
    throw new FhirError('invalid', 'A page that ends at a position takes no offset');
  }
  const { values, id } = position;
  if (
    typeof id !== 'string' ||
    !Array.isArray(values) ||
    values.length !== sort.length ||
    !values.every((value, index) => isSortValue(model, type, sort[index]!, value))
  ) {
    throw new FhirError('invalid', 'A position holds an id, and for each key of the sort a value of its kind or null');
  }
  return { position, before: after === undefined };
}

/** Stores order strings and numbers differently relative to each other, so a value must match its key's type. */
function isSortValue(model: FhirModel, type: string, { parameter }: SortKey, value: unknown): boolean {
  if (value === null) return true;
  const kind = model.searchParameter(type, parameter)?.type;
  const numeric = parameter === '_lastUpdated' || kind === 'date' || kind === 'number' || kind === 'quantity';
  return numeric ? Number.isFinite(value) : typeof value === 'string';
}

/** The requested part of a type's history, with defaults filled in. Milliseconds since 1970. */
export interface TimeWindow {
  /** The first instant. */
  readonly since: number;
  /**
   * The instant of the position that the page begins after; later than every instant if the page begins with the newest
   * version.
   */
  readonly until: number;
  readonly limit: number;
}

/** Validates a query for the history of a type. @throws FhirError `invalid` - the limit is not a whole number from 0 up, or an instant is malformed */
export function timeWindowOf({ since, after, limit }: TypeHistoryQuery): TimeWindow {
  assertWholeNumber('limit', limit);
  const instant = (text: string | undefined, otherwise: number): number => {
    const value = text === undefined ? otherwise : Date.parse(text);
    if (Number.isNaN(value)) throw new FhirError('invalid', 'The history of a type takes instants in ISO 8601');
    return value;
  };
  return { since: instant(since, -MAX_INSTANT), until: instant(after?.lastUpdated, MAX_INSTANT + 1), limit };
}

/** The last instant of a Date. */
const MAX_INSTANT = 8.64e15;

/** Checks that a resource to put has the type and id of its key. @throws FhirError `invalid` - the resource is not a JSON object, or its type or id differ from the key's. */
export function assertPutMatchesKey({ key, resource }: PutWrite, index: number): void {
  const details = { index };
  if (!isJsonObject(resource)) {
    throw new FhirError('invalid', `Write ${index} carries no resource; a JSON object is needed`, { details });
  }
  if (resource.resourceType !== key.type || resource.id !== key.id) {
    const message = `Write ${index}: resourceType and id of the resource must equal those of its key (${key.type})`;
    throw new FhirError('invalid', message, { details });
  }
}

/** The pace of a loop in the work of a call, which ends with the call. */
export class CallPace extends Pace {
  readonly #options: CallOptions | undefined;

  constructor(options: CallOptions | undefined) {
    super();
    this.#options = options;
  }

  /** @throws FhirError `aborted` - the signal of the call has fired */
  override async next(): Promise<void> {
    await super.next();
    assertNotAborted(this.#options);
  }
}

/**
 * Settles like the work, or rejects when the call ends. The work continues: other calls may share it, or it is cleaned up
 * in the background.
 *
 * @throws FhirError `aborted` - by the signal or the deadline of the call
 */
export async function untilCallEnds<Result>(
  work: Promise<Result>,
  { signal, deadline }: Pick<CallOptions, 'signal' | 'deadline'> = {},
): Promise<Result> {
  if (signal === undefined && deadline === undefined) return work;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(callAborted(signal));
  const left = deadline === undefined ? undefined : Math.min(Math.max(0, deadline - performance.now()), MAX_DELAY_MS);
  const timer = left === undefined ? undefined : setTimeout(() => reject(callTimedOut()), left);
  if (signal?.aborted === true) abort();
  else signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
