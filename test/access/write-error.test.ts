import { expect, test } from 'vitest';
import { failedIndex, withIndex, withoutIndex } from '../../src/access/contract.js';
import { FhirError } from '../../src/index.js';

test('the position of a write is added to the details of an error, and removed from them', () => {
  const cause = new Error('below');
  const issues = [{ code: 'conflict', diagnostics: 'held' }];
  const error = new FhirError('conflict', 'Taken', { details: { holder: 'User/1' }, issues, cause });
  const placed = withIndex(error, 3);
  expect(placed.details).toEqual({ holder: 'User/1', index: 3 });
  expect([failedIndex(placed), failedIndex(error), failedIndex(cause), failedIndex(undefined)]).toEqual([
    3,
    undefined,
    undefined,
    undefined,
  ]);
  expect(failedIndex(new FhirError('conflict', 'Without details'))).toBeUndefined();
  const free = withoutIndex(placed);
  expect(free).toMatchObject({ code: 'conflict', message: 'Taken', issues, cause, details: { holder: 'User/1' } });
  expect(free.details).not.toHaveProperty('index');
});

test('an error with no details left has no details member', () => {
  for (const error of [new FhirError('forbidden', 'No', { details: { index: 1 } }), new FhirError('forbidden', 'No')]) {
    const free = withoutIndex(error);
    expect([free.code, free.message, free.details]).toEqual(['forbidden', 'No', undefined]);
    expect(free.cause).toBe(error);
  }
});
