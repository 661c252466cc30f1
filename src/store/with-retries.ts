import { pause } from '../platform/timers.js';
import { assertNotAborted } from './guards.js';
import type { CallOptions } from './call-options.js';

/** The number of attempts under concurrent writes. */
export const ATTEMPTS = {
  /** For reads that must agree with each other; the last attempt accepts what it finds. */
  read: 3,
  /** For searches during which the state of the index changes. */
  search: 5,
  /** For writes based on data read before. */
  write: 5,
  /**
   * Operations on the members of one project. They compete for the same few resources, and every lost attempt is the
   * success of another one: as many operations at once all succeed.
   */
  members: 50,
} as const;

/** Returned by an attempt that lost to a concurrent writer and should be retried. */
export class Overtaken {
  /** @param error thrown if this was the last attempt; optional if the last attempt never returns this */
  constructor(readonly error?: unknown) {}
}

export interface Attempt {
  /** From 1 up. */
  readonly number: number;
  readonly isLast: boolean;
}

export interface RetryOptions extends CallOptions {
  readonly attempts: number;
  /**
   * Wait before each further attempt, for a random time that grows from 2 to {@link MAX_PAUSE_MS} milliseconds: for
   * stores with several writing processes, which would collide again immediately. Default false: the winning writer in
   * this process has finished.
   */
  readonly pauses?: boolean | undefined;
}

/**
 * Runs optimistic work until no concurrent writer interferes.
 *
 * @throws FhirError `aborted` - the signal fired before a further attempt
 * @throws what {@link Overtaken} holds - every attempt was overtaken
 */
export async function withRetries<Result>(
  { attempts, pauses = false, signal }: RetryOptions,
  work: (attempt: Attempt) => Promise<Result | Overtaken>,
): Promise<Result> {
  for (let number = 1; ; number += 1) {
    const isLast = number >= attempts;
    const outcome = await work({ number, isLast });
    if (!(outcome instanceof Overtaken)) return outcome;
    if (isLast) throw outcome.error;
    if (pauses) await pause(Math.random() * Math.min(2 ** number, MAX_PAUSE_MS), signal);
    assertNotAborted({ signal });
  }
}

const MAX_PAUSE_MS = 250;
