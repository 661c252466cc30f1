import type { TokenTest, ValueTest } from './value-test.js';

/** The codes that the test compares with: the code and the alternative. Undefined if it compares systems only. */
export function codesOf({ code, folded }: TokenTest): readonly string[] | undefined {
  if (code === undefined) return undefined;
  return folded === undefined || folded === code ? [code] : [code, folded];
}

/** The codes that a passing value can have. Undefined if values with other codes, or without a code, can pass too. */
export function requiredCodes(test: ValueTest): readonly string[] | undefined {
  return test.kind === 'token' && test.below !== true && test.negated !== true ? codesOf(test) : undefined;
}
