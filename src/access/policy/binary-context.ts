import { resourceTypes } from '../../fhir/definitions.js';
import { and, NONE, or, type Criteria } from '../../search/criteria/criteria.js';
import { isAboveProjects, isProtected } from '../fields/administrative-types.js';
import type { AccessRule, AccessRules } from '../rule.js';

/**
 * Rules under which a Binary with a `securityContext` belongs to whoever may read the resource that it references, and
 * not to everybody whom a rule for Binary names. See https://hl7.org/fhir/R4/binary.html#security-context.
 *
 * A context that does not exist, or lies outside of the project, grants nothing. A Binary is a context only while it has
 * none itself, so chains of contexts end.
 */
export function withinContexts(rules: AccessRules): AccessRules {
  let binary: readonly AccessRule[] | undefined;
  return {
    rulesFor(type) {
      if (type !== 'Binary') return rules.rulesFor(type);
      return (binary ??= bindToContexts(rules.rulesFor(type), rules));
    },
  };
}

function bindToContexts(own: readonly AccessRule[], rules: AccessRules): readonly AccessRule[] {
  if (own.length === 0) return own;
  const readable = or([WITHOUT_CONTEXT, ...resourceTypes().map((type) => contextOf(type, rules))]);
  return own.map((rule) => ({ ...rule, criteria: and([rule.criteria, readable]) }));
}

/** The Binaries whose context is a resource of this type that may be read. */
function contextOf(type: string, rules: AccessRules): Criteria {
  if (isProtected(type) || isAboveProjects(type)) return NONE;
  const granted = or(
    rules.rulesFor(type).flatMap(({ interactions, criteria }) => (interactions.has('read') ? [criteria] : [])),
  );
  const of = type === 'Binary' ? and([granted, WITHOUT_CONTEXT]) : granted;
  return of.kind === 'none' ? NONE : { kind: 'chain', parameter: 'security-context', type, of };
}

/** Asked for as a value and not by its absence: a Binary that is not indexed belongs to nobody. */
const WITHOUT_CONTEXT: Criteria = {
  kind: 'match',
  parameter: 'has-security-context',
  test: { kind: 'token', code: 'false' },
};
