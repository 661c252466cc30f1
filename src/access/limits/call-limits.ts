import { FhirError } from '../../fhir/error.js';
import type { StoreContext } from '../../store/store.js';
import { TextBudget } from '../../store/text-budget.js';

/** Limits of one call of the library. */
export interface CallLimits {
  /**
   * Maximum run time in milliseconds, until something is written. A call that exceeds it fails with `too-costly`, and
   * with `details.unknown` if the outcome of a running commit is unknown. Default: none; `limits.timeout` of GraphQL
   * and of FHIR's interactions over HTTP is 30,000 by default.
   */
  readonly timeout?: number | undefined;
  /**
   * Maximum size of the resources that a call reads, in bytes of their JSON texts as UTF-8. A search or history answers with
   * a shorter page and its `next` link where it can; other calls fail with `too-costly`. Default 134,217,728 (128 MiB).
   */
  readonly bytes?: number | undefined;
  /** How many requests run at the same time, and how many wait. Default: no limit. */
  readonly concurrency?: ConcurrencyOptions | undefined;
  /** How many subscriptions are open at the same time. */
  readonly streams?: StreamLimitOptions | undefined;
}

/** The context of trusted host code under limits. */
export interface LimitedStoreContext extends StoreContext {
  readonly limits?: CallLimits | undefined;
}

/** What a call may read. @throws FhirError `invalid` - the limit is not a number above 0 */
export function textBudget(limits: CallLimits | undefined): TextBudget {
  const { bytes } = limits ?? {};
  if (bytes === undefined || (typeof bytes === 'number' && bytes > 0)) return new TextBudget(bytes);
  throw new FhirError('invalid', 'Limit "bytes" must be a number above 0');
}

/** @throws FhirError `invalid` - not a number above 0 */
export function assertTimeout(timeout: unknown): asserts timeout is number | undefined {
  if (timeout === undefined || (typeof timeout === 'number' && timeout > 0)) return;
  throw new FhirError('invalid', 'Limit "timeout" must be a number above 0');
}

/** The arrival time of a request that existed before its call, because its body had to be read first. */
export interface RequestTime {
  /** When the request had arrived, as a time of `performance.now()`. Undefined: no time passed before the call. */
  began?: number | undefined;
}

/**
 * Whether this many milliseconds have passed. Short bodies are read in less than one, and already checked limits
 * are not checked again.
 */
export function isOver(ms: number, { began }: RequestTime): boolean {
  return began !== undefined && performance.now() - began >= ms;
}

/** Limits of a call whose time began with its request. @returns a copy */
export function limitsSince<Limits extends object>(limits: Limits, time: RequestTime): Limits {
  return { ...limits, [TIME]: time };
}

/** How much time of a call with these limits has already passed, in milliseconds. */
export function timeBefore(limits: object | undefined): number {
  const began = (limits as LimitsSince | undefined)?.[TIME]?.began;
  return began === undefined ? 0 : performance.now() - began;
}

/** No option of hosts. */
const TIME = Symbol('the time of the request');

interface LimitsSince {
  readonly [TIME]?: RequestTime;
}

/**
 * How many requests run at the same time over one store, and how many wait. Requests with these limits take turns. The
 * project with the fewest running requests comes first, then the project that has used less time; callers within a
 * project are chosen in the same way.
 *
 * Requests are counted per store object in this process. Use the same limits in every context of a store: requests
 * without them neither wait nor count.
 */
export interface Concurrency {
  /** Maximum number of running requests of the store. Default: no limit. */
  readonly total: number;
  /**
   * Maximum number of running requests of one project. Set it below `total`, so that other projects get turns. Default:
   * no limit.
   */
  readonly project: number;
  /** Maximum number of running requests of one membership, or of one kind of trusted code in a project. Default: no limit. */
  readonly caller: number;
  /**
   * Maximum number of waiting requests of one project; half of them may be of one caller. More are `throttled`. Default
   * 100.
   */
  readonly queue: number;
}

/** {@link Concurrency}, all optional. */
export type ConcurrencyOptions = { readonly [Name in keyof Concurrency]?: Concurrency[Name] | undefined };

/** No limits: no request waits. */
export const UNLIMITED: Concurrency = Object.freeze({
  total: Infinity,
  project: Infinity,
  caller: Infinity,
  queue: 100,
});

/** Completes the host's options with the defaults. @throws FhirError `invalid` - see {@link parseCounts} */
export function parseConcurrency(options: ConcurrencyOptions | undefined): Concurrency {
  return parseCounts('concurrency', options, UNLIMITED);
}

/** True if requests under these limits take turns. */
export function takesTurns({ total, project, caller }: Concurrency): boolean {
  return total !== Infinity || project !== Infinity || caller !== Infinity;
}

/** How many subscriptions are open at the same time. They are counted per store object in this process. */
export interface StreamLimits {
  /** Of one membership, or of one kind of trusted code in a project. Default 100. */
  readonly caller: number;
  /** Of one project. Default 20,000. */
  readonly project: number;
  /**
   * Of one project, those that every change of their type must test, because nothing that they ask for or their access rules
   * demand is an equality of an id, a reference or a code; equal ones count once. Default 1,000.
   */
  readonly broad: number;
}

/** {@link StreamLimits}, all optional. */
export type StreamLimitOptions = { readonly [Name in keyof StreamLimits]?: StreamLimits[Name] | undefined };

export const DEFAULT_STREAM_LIMITS: StreamLimits = Object.freeze({ caller: 100, project: 20_000, broad: 1_000 });

/** Completes the host's options with the defaults. @throws FhirError `invalid` - see {@link parseCounts} */
export function parseStreamLimits(options: StreamLimitOptions | undefined): StreamLimits {
  return parseCounts('streams', options, DEFAULT_STREAM_LIMITS);
}

export function tooManyStreams(name: keyof StreamLimits, limits: StreamLimits): FhirError {
  const max = limits[name];
  return new FhirError('throttled', `${MESSAGES[name]} (limit "streams.${name}": ${max}); end others first`, {
    details: { limit: `streams.${name}`, max },
  });
}

const MESSAGES: { readonly [Name in keyof StreamLimits]: string } = {
  caller: 'The caller has too many subscriptions',
  project: 'The project has too many subscriptions',
  broad: 'The project has too many subscriptions without an equality of an id, a reference or a code',
};

/**
 * Completes a group of limits with the defaults.
 *
 * @throws FhirError `invalid` - an option is unknown, or neither a whole number from 1 up nor Infinity
 */
function parseCounts<Limits extends StreamLimits | Concurrency>(
  group: string,
  options: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } | undefined,
  defaults: Limits,
): Limits {
  if (options === undefined || options === defaults) return defaults;
  if (typeof options !== 'object' || options === null) {
    throw new FhirError('invalid', `Limit "${group}" must be an object`);
  }
  for (const [name, value] of Object.entries<unknown>(options)) {
    if (!Object.hasOwn(defaults, name)) throw new FhirError('invalid', `There is no limit called "${group}.${name}"`);
    if (value === undefined || value === Infinity || (Number.isInteger(value) && (value as number) >= 1)) continue;
    throw new FhirError('invalid', `Limit "${group}.${name}" must be a whole number from 1 up`);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...defaults, ...Object.fromEntries(given) });
}
