import type { Criteria } from '../../../search/criteria/criteria.js';

/** Whether a condition demands that the parameter has a value, or has none; undefined if it demands neither. */
function presenceOf(criteria: Criteria | undefined, parameter: string): boolean | undefined {
  if (criteria?.kind === 'missing') return criteria.parameter === parameter ? !criteria.missing : undefined;
  if (criteria?.kind !== 'not') return undefined;
  const inner = criteria.of.kind === 'missing' ? presenceOf(criteria.of, parameter) : undefined;
  return inner === undefined ? undefined : !inner;
}

/** A parameter that every match has, or that every match lacks. */
export function neededPresence(
  criteria: Criteria,
): { readonly parameter: string; readonly present: boolean } | undefined {
  if (criteria.kind === 'match') {
    const { parameter, test } = criteria;
    // A text may be found in a resource without an indexed value.
    return test.kind === 'text' || parameter.includes('$') ? undefined : { parameter, present: true };
  }
  if (criteria.kind === 'or') {
    const [first, ...others] = criteria.of.map(neededPresence);
    const isSame = (one: typeof first): boolean =>
      one?.parameter === first?.parameter && one?.present === first?.present;
    return others.every(isSame) ? first : undefined;
  }
  const missing = criteria.kind === 'not' ? criteria.of : criteria;
  if (missing.kind !== 'missing' || missing.parameter.includes('$')) return undefined;
  const { parameter } = missing;
  const present = presenceOf(criteria, parameter);
  return present === undefined ? undefined : { parameter, present };
}
