import type { FhirError } from '../../fhir/error.js';
import { referenceTo } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { type Criteria, and, not, or } from '../../search/criteria/criteria.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import type { CallOptions } from '../../store/call-options.js';
import { expectationFailed } from '../../store/with-retries.js';
import { readInParts } from '../../store/every-page.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { Expectation } from '../../store/write.js';
import { type MemberCaller, homeOf } from '../caller.js';
import type { GuardedKey, GuardedWrite } from '../contract.js';
import { decide } from '../decide.js';
import { type Deciding, evaluateCriteria, isLocal, overlaidWith, subjectOnUse } from '../evaluate/evaluate-criteria.js';
import { type GrantedBefore, grantedBefore } from '../evaluate/granting-rules.js';
import { withMemberUsers, loadMemberUsers, mentionsMemberUsers } from '../evaluate/member-users.js';
import type { WrittenResources } from '../evaluate/written-resources.js';
import type { AccessRule, Interaction } from '../rule.js';
import type { AddedWrite } from './ready-write.js';
import type { WriteValidation } from './validate-writes.js';

/** The state for deciding a member's write: the stored resources, and the effects of earlier writes. Immutable. */
export interface CommitState {
  readonly caller: MemberCaller;
  readonly validation: WriteValidation;
  /** Whether policies may test concepts. Default false. */
  readonly hasTerminology?: boolean | undefined;
  readonly stored: StoredState;
  readonly written: WrittenResources;
}

/** The data loaded for the writes of a commit, by `Type/id`. */
interface StoredState {
  /** Deleted resources. */
  readonly deleted: ReadonlySet<string>;
  /** Existing resources, and the rules that grant them. */
  readonly granted: ReadonlyMap<string, GrantedBefore>;
  /** The Users of the project's members; undefined if no rule needs them. */
  readonly memberUsers: Criteria | undefined;
  /** When it was loaded, in milliseconds since 1970. */
  readonly now: number;
}

/** A resource before a write. */
interface CurrentResource {
  /** Null if it does not exist. */
  readonly resource: AnyResource | null;
  /** The stored version; null if it does not exist, undefined after a write of the same commit. */
  readonly version: string | null | undefined;
}

export function currentResource({ written, stored }: CommitState, { type, id }: GuardedKey): CurrentResource {
  const earlier = written.get(type, id);
  if (earlier !== undefined) return { resource: earlier, version: undefined };
  const row = stored.granted.get(referenceTo(type, id))?.row;
  return { resource: row?.resource ?? null, version: row?.versionId ?? null };
}

/** @param resource null for a deletion */
export function withWritten(state: CommitState, { type, id }: GuardedKey, resource: AnyResource | null): CommitState {
  const replaces = state.stored.granted.has(referenceTo(type, id));
  return { ...state, written: state.written.with(type, id, resource, replaces) };
}

/**
 * The expectation for the store: the caller's own, otherwise that the decided version is still current.
 *
 * @throws FhirError `precondition-failed` - the caller requires another version
 */
export function expectationOf(
  { expect, key }: Exclude<GuardedWrite, { kind: 'assert-no-match' }>,
  from: number,
  { version }: CurrentResource,
): Expectation | undefined {
  if (expect === undefined) return version === undefined ? undefined : { version };
  if (version !== undefined && expect.version !== version) throw unexpected(key, from, expect, version);
  return expect;
}

/** @param current the version that the caller finds; null for none */
export function unexpected(key: GuardedKey, from: number, expect: Expectation, current: string | null): FhirError {
  return expectationFailed(from, key, expect, current);
}

/** The rules that grant an interaction with a resource in the commit's state. */
export function* grantingRules(
  state: CommitState,
  interaction: Interaction,
  resource: AnyResource,
): Deciding<readonly AccessRule[]> {
  const granting: AccessRule[] = [];
  const subject = subjectIn(state, resource);
  for (const rule of decide(state.caller, resource.resourceType, interaction) ?? []) {
    if (yield* grants(state, rule, resource, subject)) granting.push(rule);
  }
  return granting;
}

/**
 * The same for a resource as a write finds it. Earlier writes of the commit may revoke access but never grant it:
 * querying the store for hidden resources would reveal their existence.
 */
export function* grantingRulesBefore(
  state: CommitState,
  interaction: Interaction,
  before: AnyResource,
): Deciding<readonly AccessRule[]> {
  const { resourceType: type, id } = before;
  if (state.written.get(type, id!) !== undefined) return yield* grantingRules(state, interaction, before);
  const granted = state.stored.granted.get(referenceTo(type, id!))!.rules;
  const rules = (decide(state.caller, type, interaction) ?? []).filter((rule) => granted.has(rule));
  if (state.written.isEmpty) return rules;
  const still: AccessRule[] = [];
  const subject = subjectIn(state, before);
  for (const rule of rules) if (yield* grants(state, rule, before, subject)) still.push(rule);
  return still;
}

export function* canRead(state: CommitState, before: AnyResource): Deciding<boolean> {
  return (yield* grantingRulesBefore(state, 'read', before)).length > 0;
}

/** The resource for {@link grants}: one for all rules. */
export function subjectIn({ caller, stored }: CommitState, resource: AnyResource): () => SearchSubject {
  return subjectOnUse(resource, { model: caller.rules.model, now: stored.now });
}

/** @param subject {@link subjectIn} the state */
export function* grants(
  state: CommitState,
  rule: AccessRule,
  resource: AnyResource,
  subject: () => SearchSubject,
): Deciding<boolean> {
  if (rule.criteria.kind === 'all') return true;
  const { caller, written, stored } = state;
  const criteria = settledCriteria(state, rule.criteria);
  // A chain may lead back to the resource itself, which then counts in its decided state.
  const overlay = isLocal(criteria) ? written : overlaidWith(caller.rules.model, written, resource, stored.now);
  const scope = {
    model: caller.rules.model,
    project: homeOf(resource.resourceType, caller),
    overlay,
    now: stored.now,
  };
  return yield* evaluateCriteria(criteria, subject, scope);
}

/** Replaces placeholders in criteria, so that a store can evaluate them. */
export function settledCriteria({ stored: { memberUsers } }: CommitState, criteria: Criteria): Criteria {
  return memberUsers === undefined ? criteria : withMemberUsers(criteria, memberUsers);
}

/**
 * The checks inside the commit: one of the rules must grant the resource in the commit's state. Rules with chains
 * depend on other resources, which may change between decision and commit. For other rules the expected version is
 * enough.
 *
 * @param rules the rules that granted it in the decision
 */
export function confirmGrants(
  state: CommitState,
  rules: readonly AccessRule[],
  { project, type, id }: ResourceKey,
  from: number,
): readonly AddedWrite[] {
  const granting = rules.map(({ criteria }) => settledCriteria(state, criteria));
  if (granting.some(isLocal)) return [];
  const criteria = and([{ kind: 'id', ids: [id] }, not(or(granting))]);
  const write = { kind: 'assert-no-match', query: { project, type, criteria } } as const;
  return [{ role: 'added', write, from, refusal: 'decide again' }];
}

/**
 * Loads what the writes of a member are decided on.
 *
 * Nothing is stored under a generated id, so it is not read. The commit still fails if that is wrong: it expects no version.
 */
export async function loadStored(
  store: ResourceStore,
  caller: MemberCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<StoredState> {
  const keys = writes.flatMap((write) =>
    write.kind === 'assert-no-match' || isOfGeneratedId(write)
      ? []
      : [{ ...write.key, project: homeOf(write.key.type, caller) }],
  );
  const found = await readInParts(keys, options, (part) => store.read(part, options));
  const deleted = new Set(
    keys.flatMap(({ type, id }, index) => (found[index]!.status === 'gone' ? [referenceTo(type, id)] : [])),
  );
  const types = new Set(writes.map((write) => (write.kind === 'assert-no-match' ? write.query.type : write.key.type)));
  const memberUsers = [...types].some((type) => needsMemberUsers(caller, type))
    ? await loadMemberUsers(store, caller, options)
    : undefined;
  const granted = await grantedBefore({ store, caller }, keys, found, memberUsers, options);
  return { deleted, granted, memberUsers, now: Date.now() };
}

function isOfGeneratedId(write: GuardedWrite): boolean {
  return write.kind === 'put' && write.generatedId === true;
}

function needsMemberUsers({ rules }: MemberCaller, type: string): boolean {
  return rules.rulesFor(type).some(({ criteria }) => mentionsMemberUsers(criteria));
}
