import { FhirError } from '../../fhir/error.js';
import type { StoreContext } from '../../store/store.js';
import { TextBudget } from '../../store/text-budget.js';
import type { ConcurrencyOptions } from './concurrency.js';
import type { StreamLimitOptions } from './stream-limits.js';

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
