import { ALL, and, NONE, not, or, type Criteria } from '../../search/criteria.js';
import { readsHidden } from './hidden-fields.js';
import type { AccessRule } from './rule.js';

/** The rules that let a caller search a type; null when none does. */
export type SearchRules = (type: string) => readonly AccessRule[] | null;

/**
 * What a caller asks for, within what it may see: any of the rules grants the resource, and through that rule the
 * question holds. Hidden fields have no values, and chains reach only resources that may be seen in their turn.
 */
export function restrict(
  asked: Criteria,
  type: string,
  rules: readonly AccessRule[],
  rulesOf: SearchRules,
  reference?: string,
): Criteria {
  return or(
    shapes(rules).map(({ hidden, criteria }) => {
      // The reference that a reverse search follows is a question too.
      if (reference !== undefined && readsHidden(type, reference, hidden)) return NONE;
      return and([visible(asked, type, hidden, rulesOf), criteria]);
    }),
  );
}

/** Rules that hide the same fields ask the same question, so they go together. */
function shapes(rules: readonly AccessRule[]): { readonly hidden: readonly string[]; readonly criteria: Criteria }[] {
  const byHidden = new Map<string, AccessRule[]>();
  for (const rule of rules) {
    const key = [...rule.hidden].sort().join();
    const group = byHidden.get(key);
    if (group === undefined) byHidden.set(key, [rule]);
    else group.push(rule);
  }
  return [...byHidden.values()].map((group) => ({
    hidden: group[0]!.hidden,
    criteria: or(group.map(({ criteria }) => criteria)),
  }));
}

function visible(criteria: Criteria, type: string, hidden: readonly string[], rulesOf: SearchRules): Criteria {
  switch (criteria.kind) {
    case 'and':
      return and(criteria.of.map((one) => visible(one, type, hidden, rulesOf)));
    case 'or':
      return or(criteria.of.map((one) => visible(one, type, hidden, rulesOf)));
    case 'not':
      return not(visible(criteria.of, type, hidden, rulesOf));
    case 'match':
    case 'composite':
      return readsHidden(type, criteria.parameter, hidden) ? NONE : criteria;
    case 'missing':
      if (!readsHidden(type, criteria.parameter, hidden)) return criteria;
      return criteria.missing ? ALL : NONE;
    case 'last-updated':
      return hidden.includes('meta') || hidden.includes('meta.lastUpdated') ? NONE : criteria;
    case 'chain':
    case 'has': {
      const inner = rulesOf(criteria.type);
      if (inner === null || (criteria.kind === 'chain' && readsHidden(type, criteria.parameter, hidden))) return NONE;
      const reference = criteria.kind === 'has' ? criteria.parameter : undefined;
      const of = restrict(criteria.of, criteria.type, inner, rulesOf, reference);
      return of.kind === 'none' ? NONE : { ...criteria, of };
    }
    case 'all':
    case 'none':
    case 'id':
      return criteria;
  }
}
