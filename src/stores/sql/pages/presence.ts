import type { Criteria } from '../../../search/criteria/criteria.js';

/** Whether a condition demands a value of the parameter, or none; undefined where it says nothing of that. */
export function presenceOf(criteria: Criteria | undefined, parameter: string): boolean | undefined {
  if (criteria?.kind === 'missing') return criteria.parameter === parameter ? !criteria.missing : undefined;
  if (criteria?.kind !== 'not') return undefined;
  const inner = criteria.of.kind === 'missing' ? presenceOf(criteria.of, parameter) : undefined;
  return inner === undefined ? undefined : !inner;
}
