import type { Caller } from './caller.js';
import { isProgram, isProtected, secretFields } from './policy/administrative-types.js';
import { READ_INTERACTIONS, unrestrictedRule, type AccessRule, type Interaction } from './policy/rule.js';

/**
 * The one decision about access: the rules by which a caller may do something with resources of a type. Every path (root,
 * list, reverse, reference, count, write) asks here and nowhere else.
 *
 * @returns null when nothing of that type is allowed, and then no query is sent
 */
export function decide(caller: Caller, type: string, interaction: Interaction): readonly AccessRule[] | null {
  if (caller.kind === 'system') return systemRules(type);
  if (isProtected(type) || (isProgram(type) && !READ_INTERACTIONS.includes(interaction))) return null;
  const rules = caller.rules.rulesFor(type).filter(({ interactions }) => interactions.has(interaction));
  return rules.length === 0 ? null : rules;
}

/** True where the rules grant everything and hide nothing: the store's answers need no second look. */
export function isUnrestricted(rules: readonly AccessRule[]): boolean {
  return rules.some(({ criteria, hidden }) => criteria.kind === 'all' && hidden.length === 0);
}

function systemRules(type: string): readonly AccessRule[] {
  const secrets = secretFields(type);
  return secrets.length === 0 ? TRUSTED : [unrestrictedRule('trusted code', secrets)];
}

const TRUSTED: readonly AccessRule[] = [unrestrictedRule('trusted code')];
