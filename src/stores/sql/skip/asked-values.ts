import type { ValueTest } from '../../../search/criteria/value-test.js';
import type { RowScope } from '../rows.js';

/** What a test of a code or a reference asks for: codes, or the target of the reference. */
export type AskedValues =
  | {
      /** Each match has one of them. */
      readonly codes: readonly string[];
      /** Each resource with one of them is a match. */
      readonly exact: boolean;
    }
  | { readonly target: { readonly type: string; readonly id: string }; readonly exact: true };

/** Undefined where a test asks for anything else. */
export function askedValues(test: ValueTest, scope: RowScope): AskedValues | undefined {
  if (test.kind === 'token') {
    const { code, folded, negated, below, system, noSystem } = test;
    if (code === undefined || negated === true || below === true) return undefined;
    const codes = folded === undefined || folded === code ? [code] : [code, folded];
    return { codes, exact: system === undefined && noSystem !== true };
  }
  if (test.kind !== 'reference' || scope.baseUrl !== undefined) return undefined;
  const { id, types, url, negated } = test;
  if (id === undefined || types?.length !== 1 || url !== undefined || negated === true) return undefined;
  return { target: { type: types[0]!, id }, exact: true };
}
