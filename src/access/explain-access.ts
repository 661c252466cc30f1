import { isResourceType } from '../fhir/definitions.js';
import { FhirError } from '../fhir/error.js';
import { assertCaller, type Caller } from './caller.js';
import { decide } from './decide.js';
import { homeOf } from './home-of.js';
import { ALL_INTERACTIONS, type AccessRule, type Interaction } from './policy/rule.js';
import { storeOf } from './sign-in.js';
import { grantsOf } from './visible-rows.js';
import { resolveMemberUsers } from './member-users.js';

/** Why a caller may do something with resources of a type, or may not. */
export interface AccessExplanation {
  readonly type: string;
  readonly id: string | undefined;
  readonly interactions: { readonly [Name in Interaction]: InteractionExplanation };
  /** The whole in words, a line per interaction. */
  readonly text: string;
}

export interface InteractionExplanation {
  readonly allowed: boolean;
  /** The rules that allow it, as `AccessPolicy/1, rule 2: Observation?status=final`. */
  readonly by: readonly string[];
  /** Rules of the type that were looked at and do not grant this; empty where there are none for the type. */
  readonly not: readonly string[];
  /** Fields that are hidden although the resource is granted. */
  readonly hidden: readonly string[];
  readonly readonlyFields: readonly string[];
}

/**
 * Tells which rule allows or denies what, for administrators who wonder.
 *
 * Without `id` it speaks of the type: allowed means "some resources"; with it, of that resource as it is stored now.
 * It answers about any resource whether or not the caller may see it, so show it to administrators only.
 *
 * @throws FhirError `invalid` - an unknown type, or an id for a caller that did not sign in
 */
export async function explainAccess(caller: Caller, type: string, id?: string): Promise<AccessExplanation> {
  assertCaller(caller);
  if (!isResourceType(type)) throw new FhirError('invalid', 'explainAccess needs the name of a resource type');
  const entries = await Promise.all(
    ALL_INTERACTIONS.map(
      async (interaction) => [interaction, await explainInteraction(caller, type, id, interaction)] as const,
    ),
  );
  const interactions = Object.fromEntries(entries) as unknown as AccessExplanation['interactions'];
  const subject = id === undefined ? type : `${type}/${id}`;
  return { type, id, interactions, text: entries.map(([name, found]) => sentence(name, subject, found)).join('\n') };
}

async function explainInteraction(
  caller: Caller,
  type: string,
  id: string | undefined,
  interaction: Interaction,
): Promise<InteractionExplanation> {
  const rules = decide(caller, type, interaction) ?? [];
  const granting = id === undefined || interaction === 'create' ? rules : await rulesGranting(caller, type, id, rules);
  const others = caller.kind !== 'member' ? [] : caller.rules.rulesFor(type).filter((rule) => !granting.includes(rule));
  return {
    allowed: granting.length > 0,
    by: granting.map(({ origin }) => origin.text),
    not: others.map(({ origin }) => origin.text),
    hidden: shared(granting, 'hidden'),
    readonlyFields: shared(granting, 'readonlyFields'),
  };
}

async function rulesGranting(
  caller: Caller,
  type: string,
  id: string,
  rules: readonly AccessRule[],
): Promise<readonly AccessRule[]> {
  if (caller.kind !== 'member') return rules;
  const store = storeOf(caller);
  if (store === undefined) throw new FhirError('invalid', 'Only a caller from signIn can be explained with an id');
  const project = homeOf(type, caller);
  const [found] = await store.read([{ project, type, id }]);
  if (found?.status !== 'found') return [];
  const granting: AccessRule[] = [];
  for (const rule of rules) {
    const criteria = await resolveMemberUsers(store, caller, rule.criteria, undefined);
    const [granted] = await grantsOf(store, project, type, [{ ...rule, criteria }], [found]);
    if (granted!.rules.length > 0) granting.push(rule);
  }
  return granting;
}

/** Fields that all the rules name. */
function shared(rules: readonly AccessRule[], list: 'hidden' | 'readonlyFields'): readonly string[] {
  const [first, ...others] = rules;
  return first === undefined ? [] : first[list].filter((field) => others.every((rule) => rule[list].includes(field)));
}

function sentence(interaction: Interaction, subject: string, found: InteractionExplanation): string {
  if (!found.allowed) {
    const looked = found.not.length === 0 ? 'no rule is about this type' : `not granted by: ${found.not.join('; ')}`;
    return `${interaction} ${subject}: denied, ${looked}`;
  }
  const hidden = found.hidden.length === 0 ? '' : `, without ${found.hidden.join(', ')}`;
  return `${interaction} ${subject}: allowed by ${found.by.join('; ')}${hidden}`;
}
