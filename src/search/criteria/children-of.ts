import type { Criteria } from './criteria.js';

/** The direct children of a criteria node: the operands of `and`, `or` and `not`, the criteria of `chain` and `has`. */
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
