import type { AccessRule } from '../../access/rule.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import { describeCriteria } from '../../search/criteria/describe-criteria.js';
import type { ExplainedCriteria } from './explained-plan.js';

/** Criteria as a tree with descriptions; parts added by access rules are in brackets. */
export function explainCriteria(
  criteria: Criteria,
  origins: ReadonlyMap<Criteria, readonly AccessRule[]>,
): ExplainedCriteria {
  const rules = origins.get(criteria)?.map(({ origin }) => origin.text);
  const parts = partsOf(criteria);
  const marked = outermost(criteria, origins);
  return {
    kind: criteria.kind,
    text: describeCriteria(criteria, (node, text) => {
      const bringing = marked.has(node) ? origins.get(node)! : [];
      return bringing.length === 0 ? text : `[${bringing.map(({ origin }) => origin.text).join('; ')}: ${text}]`;
    }),
    ...(parts.length === 0 ? {} : { of: parts.map((part) => explainCriteria(part, origins)) }),
    ...(rules === undefined ? {} : { rules }),
  };
}

/** Parts added by rules, without their own parts. */
function outermost(
  criteria: Criteria,
  origins: ReadonlyMap<Criteria, unknown>,
  found = new Set<Criteria>(),
): ReadonlySet<Criteria> {
  if (origins.has(criteria)) return found.add(criteria);
  for (const part of partsOf(criteria)) outermost(part, origins, found);
  return found;
}

function partsOf(criteria: Criteria): readonly Criteria[] {
  if (!('of' in criteria)) return [];
  return Array.isArray(criteria.of) ? (criteria.of as readonly Criteria[]) : [criteria.of as Criteria];
}
