import { FhirError } from '../../fhir/error.js';
import { copyObject, copyElement } from '../../fhir/json/decimal-texts.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { notFound, referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, isJsonObject, type JsonObject, secretFields } from '../../fhir/resource.js';
import type { Criteria } from '../../search/criteria/criteria.js';
import { type CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/guards.js';
import { readInParts } from '../../store/every-page.js';
import type { ResourceKey } from '../../store/resource-key.js';
import type { ResourceStore } from '../../store/store.js';
import type { ReadResult } from '../../store/stored-resource.js';
import type { Expectation, PutWrite } from '../../store/write.js';
import { type ServerCaller, type SystemCaller, homeOf } from '../caller.js';
import { type GuardedWrite, withIndex } from '../contract.js';
import { decide } from '../decide.js';
import { withMemberUsers, loadMemberUsers, mentionsMemberUsers } from '../evaluate/member-users.js';
import type { WrittenResources } from '../evaluate/written-resources.js';
import { isAboveProjects } from '../fields/administrative-types.js';
import { OPERATORS_FIELDS } from '../policy/default-rules.js';
import { assertPolicyWrite } from '../policy/validate-policy.js';
import { restrictQuery } from '../read/restrict.js';
import { type AccessRule, unrestrictedRule } from '../rule.js';
import { sideWritesOfDelete, sideWritesOfPut } from './checks.js';
import type { DecidedWrite, OwnWrite, ReadyWrite } from './ready-write.js';
import { stamp, uniqueKeysOf } from './stamp.js';

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
    ...sideWritesOfPut(key, caller, from, resource),
    new OwnPut(new TrustedPut(key, resource, expect, unique), from, readRulesOf(type)),
  ];
  for (const record of write.records ?? []) ready.push({ role: 'added', write: record, from });
  return {
    ready,
    state: { ...state, written: state.written.with(type, id, resource) },
  };
}

/** A class instance, like the objects in it: see `BundleEntry`. */
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

/** Almost all types. */
const NO_SECRETS: readonly AccessRule[] = [unrestrictedRule('trusted code')];

/** Loads what writes of trusted code are decided on: for most of them nothing. */
export async function loadTrusted(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<Pick<TrustedState, 'stored' | 'memberUsers'>> {
  const keys = new Map<string, ResourceKey>();
  const written = new Set<string>();
  const pace = new CallPace(options);
  for (const write of writes) {
    if (pace.isSpent) await pace.next();
    if (write.kind === 'assert-no-match') continue;
    const { type, id } = write.key;
    const name = referenceTo(type, id);
    const needed = write.kind === 'put' ? restsOnStored(caller, write) : !written.has(name) && looksFirst(write);
    if (needed) keys.set(name, { ...write.key, project: homeOf(type, caller) });
    written.add(name);
  }
  const found = await readInParts([...keys.values()], options, (part) => store.read(part, options));
  const stored = new Map(Array.from(keys.keys(), (name, index) => [name, found[index]!]));
  const asksForUsers = writes.some(
    (write) =>
      write.kind === 'assert-no-match' &&
      decide(caller, write.query.type, 'search')?.some(({ criteria }) => mentionsMemberUsers(criteria)),
  );
  return { stored, memberUsers: asksForUsers ? await loadMemberUsers(store, caller, options) : undefined };
}

/** The links of a removed membership are recorded, so it is read first. */
function looksFirst({ key, mustExist, expect }: GuardedWrite & { kind: 'delete' }): boolean {
  return key.type === 'ProjectMembership' || (mustExist === true && expect === undefined);
}

/**
 * Asserts the scope of trusted code, to which no policy applies: one project, or the resources above projects.
 *
 * @throws FhirError `forbidden` - the resource is in no project of the caller's, or above projects and out of its
 * reach
 */
export function assertWithinReach(caller: SystemCaller | ServerCaller, write: GuardedWrite, from: number): void {
  if (write.kind === 'assert-no-match') return;
  const { type, id } = write.key;
  if (caller.kind === 'server') {
    if (decide(caller, type, 'update') !== null) return;
    const message = `Trusted code above projects reaches Users and Projects only, not ${type}; it must name a project`;
    throw withIndex(new FhirError('forbidden', message), from);
  }
  if (!isAboveProjects(type) || (type === 'Project' && id === caller.project && write.kind === 'put')) return;
  const what = type === 'User' ? 'Users are' : id === caller.project ? 'Deleting a Project is' : 'Other Projects are';
  throw withIndex(outOfReach(what), from);
}

/** @param what the subject and its verb: `Users are` */
function outOfReach(what: string): FhirError {
  const message = `${what} out of reach of trusted code of one project; that takes trusted code above projects`;
  return new FhirError('forbidden', message);
}

type Put = GuardedWrite & { kind: 'put' };

/**
 * True for resources that trusted code may only write based on the stored version: the Project and the Bots of a
 * project's own code, and resources whose omitted secrets stay.
 */
export function restsOnStored(caller: SystemCaller | ServerCaller, write: Put): boolean {
  return isOwnPut(caller, write) || keepsSecrets(write);
}

/**
 * The resource completed with stored secrets and fixed fields, and the version it was based on.
 *
 * @param found the stored resource; required if the write {@link restsOnStored}
 * @throws FhirError `forbidden` - it changes a setting of the operator
 */
export function withWhatStays(
  caller: SystemCaller | ServerCaller,
  write: Put,
  found: ReadResult | undefined,
): { readonly resource: AnyResource; readonly expect: Expectation | undefined } {
  const { resource, expect } = write;
  if (!restsOnStored(caller, write)) return { resource, expect };
  const before = found!;
  const stored = before.status === 'found' ? before : undefined;
  const isOwn = isOwnPut(caller, write);
  const settled = isOwn ? ownPut(write, before, stored?.resource) : resource;
  const kept = keepsSecrets(write) && stored !== undefined ? keepSecrets(stored.resource, settled) : settled;
  const version = stored?.versionId ?? (isOwn ? null : undefined);
  return { resource: kept, expect: expect ?? (version === undefined ? undefined : { version }) };
}

function isOwnPut(caller: SystemCaller | ServerCaller, { key: { type } }: Put): boolean {
  return caller.kind === 'system' && (type === 'Project' || type === 'Bot');
}

function keepsSecrets({ key, keepSecrets }: Put): boolean {
  return keepSecrets === true && secretFields(key.type).length > 0;
}

/** The result of a project's own code writing its Project or a Bot. */
function ownPut({ key, resource }: Put, before: ReadResult, stored: AnyResource | undefined): AnyResource {
  if (key.type === 'Bot') {
    if ([resource, stored].some((one) => one !== undefined && isSystemBot(one))) {
      throw outOfReach('A Bot with "system": true is');
    }
    return resource;
  }
  if (before.status === 'gone') throw outOfReach('Bringing back a deleted Project is');
  const settled = ownProjectWrite(stored, resource);
  if (settled instanceof FhirError) throw settled;
  return settled;
}

/**
 * Restores the secrets that a resource lacks from the replaced version, since reads do not return them. For trusted
 * code only.
 *
 * An item of a list keeps the secrets of the stored item with the same `name`.
 */
export function keepSecrets(stored: AnyResource, asked: AnyResource): AnyResource {
  const kept = secretFields(stored.resourceType).reduce(
    (resource, path) => withPath(elementsOf(stored), resource, path.split('.')),
    elementsOf(asked),
  );
  return kept as unknown as AnyResource;
}

function withPath(stored: JsonObject, asked: JsonObject, [name, ...rest]: readonly string[]): JsonObject {
  const [before, after] = [stored[name!], asked[name!]];
  if (before === undefined) return asked;
  if (rest.length === 0) return after === undefined ? { ...copyObject(asked), [name!]: before } : asked;
  if (isJsonObject(before) && isJsonObject(after))
    return { ...copyObject(asked), [name!]: withPath(before, after, rest) };
  if (!Array.isArray(before) || !Array.isArray(after)) return asked;
  const items = after.map((item: unknown) => {
    const stored = isJsonObject(item)
      ? before.find((one) => isJsonObject(one) && one['name'] === item['name'])
      : undefined;
    return isJsonObject(stored) && isJsonObject(item) ? withPath(stored, item, rest) : item;
  });
  return { ...copyObject(asked), [name!]: items };
}

/**
 * Decides the write of a Project by its own trusted code: it changes what the project's administrators may change, and
 * the project's own secrets; the settings that belong to the operator stay, and may be repeated or left out. The
 * operator's secrets must be left out: they are never readable, so a repeated value could only be a guess.
 *
 * @param stored undefined if there is no such Project yet: it may then be made, but not as a super-admin project
 * @returns a `forbidden` error if it changes anything else
 */
export function ownProjectWrite(stored: AnyResource | undefined, asked: AnyResource): AnyResource | FhirError {
  const wanted = elementsOf(asked);
  const secret = formsOf(OPERATORS_SECRET).find((name) => Object.hasOwn(wanted, name));
  if (secret !== undefined) return refusal(secret);
  if (stored === undefined) return wanted['superAdmin'] === undefined ? asked : refusal('superAdmin');
  const before = elementsOf(stored);
  const kept: { [name: string]: unknown } = { ...wanted };
  for (const name of [...OPERATORS_FIELDS, OPERATORS_SECRET].flatMap(formsOf)) {
    if (Object.hasOwn(wanted, name) && !sameJson(wanted[name], before[name])) return refusal(name);
    if (Object.hasOwn(before, name)) copyElement(kept, name, before);
  }
  return kept as unknown as AnyResource;
}

/** A secret of the operator, for system Bots only. */
const OPERATORS_SECRET = 'systemSecret';

function formsOf(field: string): readonly string[] {
  return [field, `_${field}`];
}

function refusal(field: string): FhirError {
  const message = `Project.${field} is out of reach of trusted code of one project; that takes trusted code above projects`;
  return new FhirError('forbidden', message, {
    issues: [{ code: 'forbidden', diagnostics: message, expression: [`Project.${field}`] }],
  });
}

/** True for a Bot that may use the operator's secret (`Project.systemSecret`). */
export function isSystemBot(resource: AnyResource): boolean {
  return resource.resourceType === 'Bot' && elementsOf(resource)['system'] === true;
}
