import { setTimeout as delay } from 'node:timers/promises';
import { assertNotAborted } from './guards.js';
import type { CallOptions } from './store.js';

/** How often something is attempted while other writers are faster. */
export const ATTEMPTS = {
  /** Reads that are to agree with each other; the last attempt makes do with what it finds. */
  read: 3,
  /** Writes that were decided on what the store held a moment ago. */
  write: 5,
  /**
   * Operations on the members of one project. They compete for the same few resources, and every lost attempt is the
   * success of another one: as many operations at once all succeed.
   */
  members: 50,
} as const;

/** What an attempt returns that another writer has overtaken: it is worth another attempt. */
export class Overtaken {
  /** @param error what the work ends with if this was the last attempt; not needed where the last one never is */
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
   * Wait before each further attempt, for a random time that grows from 2 to {@link MAX_PAUSE_MS} milliseconds: for stores
   * that several processes write to, which would meet again at once. Default false: the faster writer of this process is
   * done.
   */
  readonly pauses?: boolean | undefined;
}

/**
 * Optimistic work: it is attempted until no other writer overtakes it.
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

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  // A rejection is the signal's, which is looked at next.
  await delay(milliseconds, undefined, signal && { signal }).catch(() => undefined);
}
