import { type Criteria, or } from '../../criteria/criteria.js';
import type { TokenTest } from '../../criteria/value-test.js';
import type { ValueTraits } from '../../index/value-traits.js';

/**
 * `ne` on a token: some value does not pass the test.
 *
 * A bound code has two index entries, one with the system of its binding and one without (see index-token.ts). No test of a
 * system passes both, so the entry that fails says nothing about the value. Its code does, and so does the system of another
 * binding of the same parameter.
 */
export function otherToken(parameter: string, test: TokenTest, { boundTo }: Pick<ValueTraits, 'boundTo'>): Criteria {
  const match = (one: TokenTest): Criteria => ({ kind: 'match', parameter, test: one });
  const { kind, system, noSystem = false, code } = test;
  const isBound = boundTo.length > 0 && (noSystem || (system !== undefined && boundTo.includes(system)));
  if (!isBound) return match({ ...test, negated: true });
  const otherSystems = noSystem ? [] : boundTo.filter((one) => one !== system);
  return or([
    ...(code === undefined ? [] : [match({ kind, code, negated: true })]),
    ...otherSystems.map((one) => match({ kind, system: one, ...(code === undefined ? {} : { code }) })),
  ]);
}
