import { FhirError } from './error.js';

/**
 * Asserts that a value is a whole number within the bounds, both inclusive.
 *
 * @param name the name used in the message
 * @throws FhirError `invalid`
 */
export function assertWholeNumber(
  name: string,
  value: unknown,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return;
  const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`;
  throw new FhirError('invalid', `${name} must be a whole number ${bounds}, not ${String(value)}`);
}
