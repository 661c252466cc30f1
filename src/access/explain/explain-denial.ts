import { childrenOf, type Criteria } from '../../search/criteria/criteria.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import type { Caller } from '../caller.js';
import { decide, isUnrestricted } from '../decide.js';
import { resolveMemberUsers } from '../evaluate/member-users.js';
import type { AccessRule, Interaction, RuleCondition } from '../rule.js';
import { grantsOf } from '../evaluate/granting-rules.js';

/** The denial to be explained. */
interface DeniedQuestion {
  readonly store: ResourceStore;
  readonly caller: Caller;
  /** The reader of the answer. */
  readonly askedBy: Caller;
  /** The project of the type's resources. */
  readonly project: string;
  readonly type: string;
  readonly interaction: Interaction;
}

/**
 * Why a rule does not grant an interaction, in the words of the policy, without values of resources.
 *
 * Failing conditions, and the existence of the resource, are only explained to callers who can read everything that
 * decides them.
 *
 * @param row none if there is no such resource, or if the question is about the type, which only rules without
 * the interaction and rules that never hold deny
 */
export async function denialReasons(
  rule: AccessRule,
  row: StoredResource | null | undefined,
  question: DeniedQuestion,
): Promise<string[]> {
  if (!rule.interactions.has(question.interaction)) {
    const { narrowed } = rule;
    if (narrowed?.from.has(question.interaction) === true) return [`not left to this caller by ${narrowed.text}`];
    const granted = [...(narrowed?.from ?? rule.interactions)];
    return [granted.length === 0 ? 'it grants no interaction' : `it grants ${granted.join(', ')} only`];
  }
  const conditions = rule.conditions ?? [{ text: rule.origin.text, criteria: rule.criteria, missing: [] }];
  const impossible = conditions.filter(({ criteria }) => criteria.kind === 'none');
  if (impossible.length > 0) return impossible.map(impossibility);
  if (conditions.some(({ criteria }) => !mayKnow(question, criteria))) {
    const texts = conditions.map(({ text }) => text).join('; ');
    return [`no ${question.type} with this id, or not one for which all of this holds: ${texts}`];
  }
  if (!row) return ['there is no such resource'];
  const failing: string[] = [];
  for (const { text, criteria } of conditions) {
    if (!(await holds(criteria, rule, row, question))) failing.push(`${text} does not hold`);
  }
  return failing;
}

function impossibility({ text, missing }: RuleCondition): string {
  const names = missing.map((name) => `%${name}`).join(', ');
  return missing.length === 0 ? `${text} never holds for this type` : `${text} never holds, as ${names} has no value`;
}

async function holds(
  condition: Criteria,
  rule: AccessRule,
  row: StoredResource,
  { store, caller, project, type }: DeniedQuestion,
): Promise<boolean> {
  const criteria = await resolveMemberUsers(store, caller, condition, undefined);
  const [granted] = await grantsOf(store, project, type, [{ ...rule, criteria }], [row]);
  return granted!.rules.length > 0;
}

/** Callers who read every type used in the criteria, without hidden fields, learn nothing new. */
function mayKnow({ caller, askedBy, type }: DeniedQuestion, criteria: Criteria): boolean {
  if (askedBy.kind === 'server') return true;
  if (askedBy.project !== caller.project) return false;
  if (askedBy.kind === 'system') return true;
  return [type, ...typesIn(criteria)].every((one) => isUnrestricted(decide(askedBy, one, 'read') ?? []));
}

function typesIn(criteria: Criteria): string[] {
  const inside = childrenOf(criteria).flatMap(typesIn);
  return criteria.kind === 'chain' || criteria.kind === 'has' ? [criteria.type, ...inside] : inside;
}
