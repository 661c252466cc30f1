import type { PrimitiveProblem } from './primitive-problem.js';

const NO_BASE64 = { code: 'value', expectation: 'base64: groups of four characters, padded at the end only' };

/**
 * Checks groups of four characters, white space between groups only. A loop instead of a regular expression: attachments
 * are megabytes long and would exhaust the engine's backtracking stack.
 */
export function checkBase64(value: unknown): PrimitiveProblem | undefined {
  if (typeof value !== 'string') return NO_BASE64;
  // PERF: most texts have digits only, and to search for anything else takes a third of the time of the loop.
  if (value !== '' && value.length % 4 === 0 && !NO_DIGIT.test(value)) return undefined;
  let digits = 0;
  let padding = 0;
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index);
    if (unit === 61) padding++;
    else if (isDigit(unit) && padding === 0) digits++;
    else if (!isWhiteSpace(unit) || (digits + padding) % 4 !== 0) return NO_BASE64;
  }
  return digits > 0 && padding <= 2 && (digits + padding) % 4 === 0 ? undefined : NO_BASE64;
}

const NO_DIGIT = /[^A-Za-z0-9+/]/;

function isDigit(unit: number): boolean {
  return (
    (unit >= 97 && unit <= 122) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 48 && unit <= 57) ||
    unit === 43 ||
    unit === 47
  );
}

function isWhiteSpace(unit: number): boolean {
  return unit === 32 || unit === 9 || unit === 10 || unit === 13;
}
