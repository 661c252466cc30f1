import { requiredCodes } from '../../../search/criteria/codes-of.js';
import type { ValueTest } from '../../../search/criteria/value-test.js';
import { targetOf } from '../pages/condition.js';
import type { RowScope } from '../rows.js';

/** The codes, or the reference target, that a test asks for. */
export type AskedValues =
  | {
      /** Every match has one of these codes. */
      readonly codes: readonly string[];
      /** Every resource with one of these codes is a match. */
      readonly exact: boolean;
    }
  | { readonly target: { readonly type: string; readonly id: string }; readonly exact: true };

/** @returns undefined for tests of other values */
export function askedValues(test: ValueTest, scope: RowScope): AskedValues | undefined {
  if (test.kind === 'token') {
    const codes = requiredCodes(test);
    return codes && { codes, exact: test.system === undefined && test.noSystem !== true };
  }
  const target = scope.baseUrl === undefined ? targetOf(test) : undefined;
  return target && { target, exact: true };
}
