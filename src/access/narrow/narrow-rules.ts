import { and } from '../../search/criteria/criteria.js';
import { simplifyCriteria } from '../../search/criteria/simplify-criteria.js';
import { assertAffordable } from '../../search/parse/criteria-cost.js';
import { rulesByType, type AccessRule, type AccessRules, type Interaction } from '../rule.js';
import type { Limit, Limits } from './limits.js';

/**
 * The rules of a caller within limits: each grants less than before, and none is added.
 *
 * A rule that no longer allows anything stays, without interactions: fields that any rule of a type hides stay guarded
 * from writers, also from a narrowed one.
 *
 * @throws FhirError `too-costly` - from `rulesFor`: rule and limit together
 */
export function narrowRules(rules: AccessRules, limits: Limits): AccessRules {
  return rulesByType(rules.model, (type) => {
    const left = limits.limitsFor(type);
    return rules.rulesFor(type).flatMap((rule) => {
      const within = left.flatMap((limit) => withinLimit(rule, limit) ?? []);
      return within.length > 0
        ? within
        : [{ ...rule, interactions: NOTHING, narrowed: narrowedFrom(rule, limits.text) }];
    });
  });
}

const NOTHING: ReadonlySet<Interaction> = new Set();

/** @returns undefined if nothing is left of the rule */
function withinLimit(rule: AccessRule, limit: Limit): AccessRule | undefined {
  const interactions = new Set([...rule.interactions].filter((one) => limit.interactions.has(one)));
  if (interactions.size === 0) return undefined;
  const narrowed = narrowedFrom(rule, limit.text);
  const origin = { ...rule.origin, text: `${rule.origin.text}, within ${limit.text}` };
  if (limit.criteria.kind === 'all') return { ...rule, origin, interactions, narrowed };
  const { criteria: own, conditions = [{ text: rule.origin.text, criteria: own, missing: [] }] } = rule;
  const criteria = simplifyCriteria(and([own, limit.criteria]));
  assertAffordable({ criteria });
  return {
    ...rule,
    origin,
    interactions,
    criteria,
    conditions: [...conditions, { text: limit.text, criteria: limit.criteria, missing: [] }],
    narrowed,
  };
}

function narrowedFrom({ interactions, narrowed }: AccessRule, text: string): AccessRule['narrowed'] {
  return { text, from: narrowed?.from ?? interactions };
}
