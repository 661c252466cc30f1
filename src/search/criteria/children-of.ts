import type { Criteria } from './criteria.js';

/** The criteria right inside others: what `and` and `or` join, what `not` negates, what `chain` and `has` lead to. */
export function childrenOf(criteria: Criteria): readonly Criteria[] {
  switch (criteria.kind) {
    case 'and':
    case 'or':
      return criteria.of;
    case 'not':
    case 'chain':
    case 'has':
      return [criteria.of];
    default:
      return NO_CRITERIA;
  }
}

const NO_CRITERIA: readonly Criteria[] = [];
