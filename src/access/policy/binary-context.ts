import { and, NONE, or, type Criteria } from '../../search/criteria/criteria.js';
import { assertAffordable, MAX_RESTRICTED_COST } from '../../search/parse/criteria-cost.js';
import { isAboveProjects, isProtected } from '../fields/administrative-types.js';
import type { AccessRule, AccessRules, RuleCondition } from '../rule.js';

/**
 * Restricts rules for Binary: a Binary with a `securityContext` is visible only to callers who may read the referenced
 * resource. See https://hl7.org/fhir/R4/binary.html#security-context.
 *
 * A context that does not exist, or is outside of the project, grants nothing. A Binary is a context only while it
 * has none itself, so chains of contexts end.
 */
export function withinContexts(rules: AccessRules): AccessRules {
  let binary: readonly AccessRule[] | undefined;
  return {
    model: rules.model,
    rulesFor(type) {
      if (type !== 'Binary') return rules.rulesFor(type);
      return (binary ??= bindToContexts(rules.rulesFor(type), rules));
    },
  };
}

function bindToContexts(own: readonly AccessRule[], rules: AccessRules): readonly AccessRule[] {
  if (own.length === 0) return own;
  const readable = or([WITHOUT_CONTEXT, ...contexts(rules)]);
  const condition: RuleCondition = {
    text: 'the securityContext, where there is one, can be read',
    criteria: readable,
    missing: [],
  };
  return own.map((rule) => ({
    ...rule,
    criteria: and([rule.criteria, readable]),
    conditions: rule.conditions && [...rule.conditions, condition],
  }));
}

/** @throws FhirError `too-costly` - the rules of all types together; found before all of them are compiled */
function contexts(rules: AccessRules): Criteria[] {
  const found: Criteria[] = [];
  for (const type of rules.model.resourceTypes) {
    found.push(contextOf(type, rules));
    if (found.length % TYPES_AT_ONCE === 0) assertAffordable({ criteria: or(found) }, MAX_RESTRICTED_COST);
  }
  assertAffordable({ criteria: or(found) }, MAX_RESTRICTED_COST);
  return found;
}

const TYPES_AT_ONCE = 10;

/** The Binaries with a context of this type that the caller can read. */
function contextOf(type: string, rules: AccessRules): Criteria {
  if (isProtected(type) || isAboveProjects(type)) return NONE;
  const granted = or(
    rules.rulesFor(type).flatMap(({ interactions, criteria }) => (interactions.has('read') ? [criteria] : [])),
  );
  const of = type === 'Binary' ? and([granted, WITHOUT_CONTEXT]) : granted;
  return of.kind === 'none' ? NONE : { kind: 'chain', parameter: 'security-context', type, of };
}

/** Tested as a value, not by its absence: a Binary that is not indexed is visible to nobody. */
const WITHOUT_CONTEXT: Criteria = {
  kind: 'match',
  parameter: 'has-security-context',
  test: { kind: 'token', code: 'false' },
};
