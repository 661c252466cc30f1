import { FhirError } from '../fhir/error.js';
import { pause } from '../platform/runtime.js';
import type { CallOptions } from './call-options.js';
import { assertNotAborted } from './guards.js';
import type { ResourceKey } from './resource-key.js';
import type { Expectation } from './write.js';

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

/** The outcome of an attempt that lost to a concurrent writer and should be retried. */
export class Overtaken {
  /** @param error thrown if this was the last attempt; optional if the last attempt never returns this */
  constructor(readonly error?: unknown) {}
}

interface Attempt {
  /** From 1 up. */
  readonly number: number;
  readonly isLast: boolean;
}

interface RetryOptions extends CallOptions {
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
 * @throws the error of the last {@link Overtaken} - every attempt was overtaken
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

/** True if a commit failed because of the store's state: a new plan may succeed. */
export function isConflict(error: unknown): error is FhirError {
  return error instanceof FhirError && (error.code === 'conflict' || error.code === 'precondition-failed');
}

// The rejections of `commit`, shared by all stores. `index` is the position of the write that caused it.

/** The error for an `expect` that did not hold. `current` is the version found, null if there is none. */
export function expectationFailed(
  index: number,
  { type, id }: Pick<ResourceKey, 'type' | 'id'>,
  expect: Expectation,
  current: string | null,
): FhirError {
  const wanted = expect.version === null ? 'not to exist' : `at version ${expect.version}`;
  const found = current === null ? 'it does not exist' : `it is at version ${current}`;
  return new FhirError('precondition-failed', `${type}/${id} was expected ${wanted}, but ${found}`, {
    details: { index, current },
  });
}

/**
 * The error for a unique key that another resource has. The key may be personal data, so the message does not contain
 * it.
 */
export function uniqueKeyTaken(
  index: number,
  { type, id }: Pick<ResourceKey, 'type' | 'id'>,
  holder: string,
): FhirError {
  return new FhirError('conflict', `${type}/${id} must be unique, but ${holder} is already there`, {
    details: { index, holder },
  });
}

/** The error for an `assert-no-match` check that found a match. */
export function matchFound(index: number, holder: string): FhirError {
  return new FhirError('conflict', `Expected no match, but ${holder} matches`, { details: { index, holder } });
}
