import { secretFields } from '../fhir/resource.js';
import { getOrCreate, oncePer } from '../platform/collections.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import { assertNotEnded, type Caller, type ServerCaller, type SystemCaller } from './caller.js';
import { isAboveProjects, isClientType, isProtected } from './fields/administrative-types.js';
import { administratorRulesFor } from './policy/default-rules.js';
import { READ_INTERACTIONS, unrestrictedRule, type AccessRule, type Interaction } from './rule.js';

/**
 * The one decision about access: the rules by which a caller may do something with resources of a type. Every path
 * (root, list, reverse, reference, count, write) calls this function and no other.
 *
 * @returns null if nothing of that type is allowed; then no query is sent
 */
export function decide(caller: Caller, type: string, interaction: Interaction): readonly AccessRule[] | null {
  if (caller.kind !== 'member') return trustedRules(caller, type, interaction);
  assertNotEnded(caller);
  if (isProtected(type) || (isClientType(type) && !READ_INTERACTIONS.includes(interaction))) return null;
  const rules = rulesWith(caller.rules.rulesFor(type), interaction);
  return rules.length === 0 ? null : rules;
}

/** A policy may have hundreds of rules, and a long transaction calls this for each of its resources. */
function rulesWith(rules: readonly AccessRule[], interaction: Interaction): readonly AccessRule[] {
  return getOrCreate(byInteraction(rules), interaction, () =>
    rules.filter(({ interactions }) => interactions.has(interaction)),
  );
}

const byInteraction = oncePer((_rules: readonly AccessRule[]) => new Map<Interaction, readonly AccessRule[]>());

/** True if the rules grant everything and hide nothing, so that results need no filtering. */
export function isUnrestricted(rules: readonly AccessRule[]): boolean {
  return rules.some(({ criteria, hidden }) => criteria.kind === 'all' && hidden.length === 0);
}

/** True if the caller reads every resource of the type, and so learns nothing from a taken id. */
export function readsAll(caller: Caller, type: string): boolean {
  return (decide(caller, type, 'read') ?? []).some(({ criteria }) => criteria.kind === 'all');
}

function trustedRules(
  caller: SystemCaller | ServerCaller,
  type: string,
  interaction: Interaction,
): readonly AccessRule[] | null {
  if (!isAboveProjects(type)) return caller.project === SERVER_SCOPE ? null : everything(type);
  if (caller.kind === 'server') return everything(type);
  // Above its project it has the rights of an administrator of the project.
  const own = getOrCreate(ownRules(caller), type, () => administratorRulesFor(type, caller.project));
  return own.filter(({ interactions }) => interactions.has(interaction));
}

/** By type; only types above projects are cached. */
const ownRules = oncePer((_caller: SystemCaller) => new Map<string, readonly AccessRule[]>());

function everything(type: string): readonly AccessRule[] {
  const secrets = secretFields(type);
  return secrets.length === 0 ? TRUSTED : [unrestrictedRule('trusted code', secrets)];
}

const TRUSTED: readonly AccessRule[] = [unrestrictedRule('trusted code')];
