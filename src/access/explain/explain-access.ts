import { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import { and, childrenOf, type Criteria, refersTo } from '../../search/criteria/criteria.js';
import type { CallOptions } from '../../store/call-options.js';
import type { ResourceStore } from '../../store/store.js';
import type { StoredResource } from '../../store/stored-resource.js';
import { assertCaller, type Caller, homeOf, type MemberCaller } from '../caller.js';
import { decide, isUnrestricted } from '../decide.js';
import { grantsOf } from '../evaluate/granting-rules.js';
import { resolveMemberUsers } from '../evaluate/member-users.js';
import type { CallLimits } from '../limits/call-limits.js';
import { type InCall, withinLimits } from '../operation.js';
import { type AccessRule, ALL_INTERACTIONS, type Interaction, type RuleCondition } from '../rule.js';

/** Why a caller may or may not do something with resources of a type. */
export interface AccessExplanation {
  readonly type: string;
  readonly id: string | undefined;
  readonly interactions: { readonly [Name in Interaction]: InteractionExplanation };
  /** The explanation as text, one line per interaction. */
  readonly text: string;
}

/** Whether one interaction is allowed, and by which rules. */
export interface InteractionExplanation {
  readonly allowed: boolean;
  /** The rules that allow it, as `AccessPolicy/1, rule 2: Observation?status=final`. */
  readonly by: readonly string[];
  /** The type's rules that do not grant this; empty if the type has no rules. */
  readonly not: readonly string[];
  /** The reasons of each of these rules; absent without such rules. */
  readonly reasons?: readonly DenialReason[];
  /** Fields that are hidden although the resource is granted. */
  readonly hidden: readonly string[];
  readonly readonlyFields: readonly string[];
  /** Creates and updates that every rule allows under conditions only: the write constraints of these rules. */
  readonly writeConstraints?: readonly string[];
}

/** Why one rule does not grant an interaction. */
export interface DenialReason {
  /** As in `not`. */
  readonly rule: string;
  /** In the words of the policy, never with values of resources: `gender=female does not hold`. */
  readonly because: readonly string[];
}

/** The access to be explained. */
export interface AccessQuestion {
  readonly type: string;
  /** The resource as stored now. Absent: the type, where allowed means "some resources". */
  readonly id?: string | undefined;
  /** The caller whose access is explained. Default: the caller of the context. */
  readonly of?: Caller | undefined;
}

/** The location of the explained resource, and the reader of the explanation. */
export interface ExplainAccessContext {
  readonly store: ResourceStore;
  /**
   * Who reads the explanation: `systemCaller` of the project for the host's own people, or an administrator's caller.
   * Failing conditions, and the existence of the resource, are only explained if this caller can read everything that
   * the conditions read.
   */
  readonly caller: Caller;
  readonly limits?: CallLimits | undefined;
}

/**
 * Shows administrators which rule allows or denies what.
 *
 * It contains texts of policies, so show it to administrators only.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - an unknown type
 *
 * @example
 * const { text } = await explainAccess(
 *   { of: nurse, type: 'Patient', id: '123' },
 *   { store, caller: systemCaller('clinic') },
 * );
 */
export async function explainAccess(
  question: AccessQuestion,
  context: ExplainAccessContext,
): Promise<AccessExplanation> {
  return withinLimits(context, (bounded) => explain(question, bounded));
}

async function explain(
  question: AccessQuestion,
  { store, caller: askedBy, call }: InCall<ExplainAccessContext>,
): Promise<AccessExplanation> {
  const { type, id, of: caller = askedBy } = question;
  assertCaller(askedBy);
  assertCaller(caller);
  if (!store.model.isResourceType(type))
    throw new FhirError('invalid', 'explainAccess needs the name of a resource type');
  const isAbout = caller.kind === 'member' && id !== undefined;
  const subject = isAbout ? await findSubject(store, caller, type, id, call) : undefined;
  const of = { store, caller, askedBy, project: homeOf(type, caller), type, call };
  const entries = await Promise.all(
    ALL_INTERACTIONS.map(
      async (interaction) => [interaction, await explainInteraction({ ...of, interaction }, subject)] as const,
    ),
  );
  const interactions = Object.fromEntries(entries) as unknown as AccessExplanation['interactions'];
  const name = id === undefined ? type : referenceTo(type, id);
  return { type, id, interactions, text: entries.map(([key, found]) => sentence(key, name, found)).join('\n') };
}

/** The subject of an explanation with an id. */
interface Subject {
  /** Null if there is no current version. */
  readonly row: StoredResource | null;
  readonly deleted: boolean;
  /** The caller's rules that grant the current version, for any interaction. */
  readonly granted: ReadonlySet<AccessRule>;
  /** An AccessPolicy that the caller's own membership names, which it may not write. */
  readonly bindsCaller: boolean;
}

/** A missing resource causes the same store calls, so that timing does not reveal its absence. */
async function findSubject(
  store: ResourceStore,
  caller: MemberCaller,
  type: string,
  id: string,
  call: CallOptions,
): Promise<Subject> {
  const project = homeOf(type, caller);
  const found = (await store.read([{ project, type, id }], call))[0]!;
  const row = found.status === 'found' ? found : null;
  const rules = new Map<AccessRule, AccessRule>();
  for (const rule of caller.rules.rulesFor(type)) {
    rules.set({ ...rule, criteria: await resolveMemberUsers(store, caller, rule.criteria, call) }, rule);
  }
  const granted = await grantsOf(store, project, type, [...rules.keys()], row === null ? [] : [row], call, [id]);
  return {
    row,
    deleted: found.status === 'gone',
    granted: new Set(granted.flatMap((one) => one.rules.map((rule) => rules.get(rule)!))),
    bindsCaller: type === 'AccessPolicy' && (await bindsCaller(store, caller, id, call)),
  };
}

async function bindsCaller(
  store: ResourceStore,
  caller: MemberCaller,
  id: string,
  call: CallOptions,
): Promise<boolean> {
  const { project, membership } = caller;
  const criteria = and([{ kind: 'id', ids: [membership] }, refersTo('access-policy', { type: 'AccessPolicy', id })]);
  const { matches } = await store.search({ project, type: 'ProjectMembership', criteria, limit: 1 }, call);
  return matches.length > 0;
}

async function explainInteraction(
  question: InteractionQuestion,
  subject: Subject | undefined,
): Promise<InteractionExplanation> {
  const { caller, type, interaction } = question;
  // Criteria that never hold, because a parameter has no value, grant nothing.
  const rules = (decide(caller, type, interaction) ?? []).filter(({ criteria }) => criteria.kind !== 'none');
  const about = interaction === 'create' ? undefined : subject;
  const granting = about === undefined ? rules : grantingRules(caller, type, interaction, about, rules);
  const others = caller.kind !== 'member' ? [] : caller.rules.rulesFor(type).filter((rule) => !granting.includes(rule));
  const reasons: DenialReason[] = [];
  for (const rule of others) {
    const because = isBound(about, interaction)
      ? ['it binds the caller itself; only another administrator changes it']
      : await denialReasons(rule, about?.row, question);
    reasons.push({ rule: rule.origin.text, because });
  }
  return {
    allowed: granting.length > 0,
    by: granting.map(({ origin }) => origin.text),
    not: others.map(({ origin }) => origin.text),
    ...(reasons.length === 0 ? {} : { reasons }),
    hidden: shared(granting, 'hidden'),
    readonlyFields: shared(granting, 'readonlyFields'),
    ...constraintsOf(granting, interaction),
  };
}

function grantingRules(
  caller: Caller,
  type: string,
  interaction: Interaction,
  subject: Subject,
  rules: readonly AccessRule[],
): readonly AccessRule[] {
  if (isBound(subject, interaction)) return [];
  if (!subject.deleted) return rules.filter((rule) => subject.granted.has(rule));
  // Only callers who read all of the type learn of a deletion.
  const isOpen = ({ criteria }: AccessRule): boolean => criteria.kind === 'all';
  if (interaction === 'history' || interaction === 'vread') return rules.filter(isOpen);
  // Repeating a deletion changes nothing.
  return interaction === 'delete' && (decide(caller, type, 'read') ?? []).some(isOpen) ? rules : [];
}

function isBound(subject: Subject | undefined, interaction: Interaction): boolean {
  return subject?.bindsCaller === true && (interaction === 'update' || interaction === 'delete');
}

/** The constraints on new content, if no rule grants the write unconditionally. */
function constraintsOf(
  rules: readonly AccessRule[],
  interaction: Interaction,
): Pick<InteractionExplanation, 'writeConstraints'> {
  const writes = interaction === 'create' || interaction === 'update';
  if (!writes || rules.length === 0 || rules.some(({ writeConstraints }) => writeConstraints.length === 0)) return {};
  return { writeConstraints: [...new Set(rules.flatMap(({ writeConstraints }) => writeConstraints))] };
}

function shared(rules: readonly AccessRule[], list: 'hidden' | 'readonlyFields'): readonly string[] {
  const [first, ...others] = rules;
  return first === undefined ? [] : first[list].filter((field) => others.every((rule) => rule[list].includes(field)));
}

function sentence(interaction: Interaction, subject: string, found: InteractionExplanation): string {
  if (!found.allowed) {
    if (found.reasons === undefined) return `${interaction} ${subject}: denied, no rule is about this type`;
    const rules = found.reasons.map(({ rule, because }) => `${rule} (${because.join('; ')})`);
    return `${interaction} ${subject}: denied, not granted by: ${rules.join('; ')}`;
  }
  const hidden = found.hidden.length === 0 ? '' : `, without ${found.hidden.join(', ')}`;
  const constraints = found.writeConstraints === undefined ? '' : `, if ${found.writeConstraints.join(' or ')}`;
  return `${interaction} ${subject}: allowed by ${found.by.join('; ')}${hidden}${constraints}`;
}

/** The interaction to be explained. */
interface InteractionQuestion {
  readonly store: ResourceStore;
  readonly caller: Caller;
  /** The reader of the answer. */
  readonly askedBy: Caller;
  /** The project of the type's resources. */
  readonly project: string;
  readonly type: string;
  readonly interaction: Interaction;
  readonly call: CallOptions;
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
async function denialReasons(
  rule: AccessRule,
  row: StoredResource | null | undefined,
  question: InteractionQuestion,
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
  { store, caller, project, type, call }: InteractionQuestion,
): Promise<boolean> {
  const criteria = await resolveMemberUsers(store, caller, condition, call);
  const [granted] = await grantsOf(store, project, type, [{ ...rule, criteria }], [row], call);
  return granted!.rules.length > 0;
}

/** Callers who read every type used in the criteria, without hidden fields, learn nothing new. */
function mayKnow({ caller, askedBy, type }: InteractionQuestion, criteria: Criteria): boolean {
  if (askedBy.kind === 'server') return true;
  if (askedBy.project !== caller.project) return false;
  if (askedBy.kind === 'system') return true;
  return [type, ...typesIn(criteria)].every((one) => isUnrestricted(decide(askedBy, one, 'read') ?? []));
}

function typesIn(criteria: Criteria): string[] {
  const inside = childrenOf(criteria).flatMap(typesIn);
  return criteria.kind === 'chain' || criteria.kind === 'has' ? [criteria.type, ...inside] : inside;
}
