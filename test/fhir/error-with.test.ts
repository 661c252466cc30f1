import { expect, test } from 'vitest';
import { FhirError } from '../../src/index.js';

const fault = new Error('disk');
const error = new FhirError('conflict', 'Taken', {
  issues: [{ code: 'conflict', diagnostics: 'Taken', expression: ['Patient.id'] }],
  details: { holder: 'Patient/1' },
  cause: fault,
});

test('further details join those of the error; findings and cause are kept', () => {
  const more = error.with({ details: { index: 2 } });
  expect(more).toMatchObject({ code: 'conflict', message: 'Taken', details: { holder: 'Patient/1', index: 2 } });
  expect(more.issues).toBe(error.issues);
  expect(more.cause).toBe(fault);
});

test('another message is the one finding', () => {
  const more = error.with({ message: 'Taken: x.db' });
  expect(more.issues).toEqual([{ code: 'conflict', diagnostics: 'Taken: x.db' }]);
  expect(more.details).toEqual({ holder: 'Patient/1' });
});

test('an error without cause is the cause of its copy', () => {
  const plain = new FhirError('invalid', 'No');
  expect(plain.with({ details: { index: 0 } }).cause).toBe(plain);
  expect(plain.with({}).details).toBeUndefined();
});
