import { FhirError } from '../fhir/error.js';
import type { ResourceKey } from './resource-key.js';
import type { Expectation } from './write.js';

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
