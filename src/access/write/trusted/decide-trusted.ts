import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import { notFound } from '../../../fhir/not-found.js';
import { referenceTo } from '../../../fhir/reference.js';
import type { AnyResource } from '../../../fhir/resource.js';
import { secretFields } from '../../../fhir/secret-fields.js';
import type { Criteria } from '../../../search/criteria/criteria.js';
import type { ResourceKey } from '../../../store/resource-key.js';
import type { ReadResult } from '../../../store/stored-resource.js';
import type { Expectation, PutWrite } from '../../../store/write.js';
import { type ServerCaller, type SystemCaller, homeOf } from '../../caller.js';
import type { GuardedWrite } from '../../contract.js';
import { decide } from '../../decide.js';
import { withMemberUsers } from '../../evaluate/member-users.js';
import type { WrittenResources } from '../../evaluate/written-resources.js';
import { assertPolicyWrite } from '../../policy/validate-policy.js';
import { restrictQuery } from '../../read/restrict-query.js';
import { type AccessRule, unrestrictedRule } from '../../rule.js';
import { sideWritesOfDelete, sideWritesOfPut } from '../checks/side-writes.js';
import type { DecidedWrite } from '../decided-write.js';
import type { OwnWrite, ReadyWrite } from '../ready-write.js';
import { stamp } from '../stamp.js';
import { uniqueKeysOf } from '../unique-keys.js';
import { withWhatStays } from './what-stays.js';

/** The state for deciding a write of trusted code. Immutable. */
export interface TrustedState {
  readonly model: FhirModel;
  /** Whether policies may test concepts. Default false. */
  readonly hasTerminology?: boolean | undefined;
  readonly caller: SystemCaller | ServerCaller;
  /** The resources that the writes depend on, by `Type/id`; others are not loaded. */
  readonly stored: ReadonlyMap<string, ReadResult>;
  /** The Users of the project's members; undefined if no write needs them. */
  readonly memberUsers: Criteria | undefined;
  readonly written: WrittenResources;
}

/**
 * Decides one write of trusted code, to which no policy applies. It may write secrets, but results never contain them.
 *
 * @param from position of the write in its commit
 * @throws FhirError the denial
 */
export function decideTrusted(state: TrustedState, write: GuardedWrite, from: number): DecidedWrite<TrustedState> {
  switch (write.kind) {
    case 'put':
      return decidePut(state, write, from);
    case 'delete':
      return decideDelete(state, write, from);
    case 'assert-no-match':
      return { ready: [guardedAssertion(state, write, from)], state };
  }
}

function guardedAssertion(
  { model, caller, memberUsers }: TrustedState,
  { query }: GuardedWrite & { kind: 'assert-no-match' },
  from: number,
): ReadyWrite {
  const rulesOf = (type: string): ReturnType<typeof decide> => decide(caller, type, 'search');
  const restricted = restrictQuery(model, caller, query, rulesOf(query.type) ?? [], rulesOf);
  const criteria = memberUsers === undefined ? restricted.criteria : withMemberUsers(restricted.criteria, memberUsers);
  return { role: 'own', write: { kind: 'assert-no-match', query: { ...restricted, criteria } }, from, readRules: [] };
}

function decideDelete(
  state: TrustedState,
  write: GuardedWrite & { kind: 'delete' },
  from: number,
): DecidedWrite<TrustedState> {
  const { caller } = state;
  const { mustExist, ...deletion } = write;
  const { type, id } = write.key;
  const earlier = state.written.get(type, id);
  const stored = earlier === undefined ? state.stored.get(referenceTo(type, id)) : undefined;
  if (mustExist === true && write.expect === undefined && stored?.status === 'missing') throw notFound({ type, id });
  const before = earlier ?? (stored?.status === 'found' ? stored.resource : null);
  // The links of a removed membership are recorded, so the deleted version must be the loaded one.
  const expect =
    type === 'ProjectMembership' && stored !== undefined
      ? (write.expect ?? { version: stored.status === 'found' ? stored.versionId : null })
      : write.expect;
  const key = { ...write.key, project: homeOf(type, caller) };
  return {
    ready: [
      ...sideWritesOfDelete(key, caller, from, before),
      { role: 'own', write: { ...deletion, key, expect }, from, readRules: [] },
    ],
    state: { ...state, written: state.written.with(type, id, null) },
  };
}

function decidePut(
  state: TrustedState,
  write: GuardedWrite & { kind: 'put' },
  from: number,
): DecidedWrite<TrustedState> {
  const { caller } = state;
  const { type, id } = write.key;
  const key: ResourceKey = { project: homeOf(type, caller), type, id };
  if (write.resource.resourceType === 'AccessPolicy')
    assertPolicyWrite(state.model, write.resource, state.hasTerminology);
  const stored = state.stored.get(referenceTo(type, id));
  const { resource: settled, expect } = withWhatStays(caller, write, stored);
  const resource = stamp(settled, caller);
  const own = uniqueKeysOf(resource);
  const unique = write.unique === undefined ? own : [...write.unique, ...own];
  const ready: ReadyWrite[] = [
    ...sideWritesOfPut(key, from, resource),
    new OwnPut(new TrustedPut(key, resource, expect, unique), from, readRulesOf(type)),
  ];
  for (const record of write.records ?? []) ready.push({ role: 'added', write: record, from });
  return {
    ready,
    state: { ...state, written: state.written.with(type, id, resource) },
  };
}

/** PERF: a class instance, like the objects in it: see `BundleEntry`. */
class OwnPut implements OwnWrite {
  readonly role = 'own';

  constructor(
    readonly write: PutWrite,
    readonly from: number,
    readonly readRules: readonly AccessRule[],
  ) {}
}

class TrustedPut implements PutWrite {
  readonly kind = 'put';

  constructor(
    readonly key: ResourceKey,
    readonly resource: AnyResource,
    readonly expect: Expectation | undefined,
    readonly unique: readonly string[],
  ) {}
}

function readRulesOf(type: string): readonly AccessRule[] {
  const secrets = secretFields(type);
  return secrets.length === 0 ? NO_SECRETS : [unrestrictedRule('trusted code', secrets)];
}

/** PERF: almost all types. */
const NO_SECRETS: readonly AccessRule[] = [unrestrictedRule('trusted code')];
