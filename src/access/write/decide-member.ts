import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { notFound, referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf } from '../../fhir/resource.js';
import { compileFhirPath } from '../../fhirpath/compile.js';
import { getOrCreate } from '../../platform/collections.js';
import { NONE } from '../../search/criteria/criteria.js';
import type { SearchSubject } from '../../search/evaluate/search-subject.js';
import { homeOf, type MemberCaller } from '../caller.js';
import type { GuardedKey, GuardedWrite } from '../contract.js';
import { decide, readsAll } from '../decide.js';
import { type Deciding, STEP } from '../evaluate/evaluate-criteria.js';
import { assertGuarded, keepFields, type KeptFields } from '../fields/keep-fields.js';
import { maskResource, withoutSecrets } from '../fields/mask-resource.js';
import { assertPolicyWrite } from '../policy/validate-policy.js';
import { restrict, type SearchRules } from '../read/restrict.js';
import { type AccessRule, type Interaction, unrestrictedRule } from '../rule.js';
import { sideWritesOfDelete, sideWritesOfPut } from './checks.js';
import {
  canRead,
  type CommitState,
  confirmGrants,
  currentResource,
  expectationOf,
  grantingRules,
  grantingRulesBefore,
  grants,
  settledCriteria,
  subjectIn,
  unexpected,
  withWritten,
} from './commit-state.js';
import type { DecidedWrite } from './ready-write.js';
import { stamp, uniqueKeysOf, withoutStoredVersion } from './stamp.js';
import { assertSubscriptionWrite } from './subscription-write.js';
import { validatingWrite } from './validate-writes.js';

/**
 * Decides one write of a member. It has no side effects: its only inputs are the state and the answers to the queries
 * it yields.
 *
 * @param from position of the write in its commit
 * @throws FhirError the denial
 */
export function decideWrite(
  state: CommitState,
  write: GuardedWrite,
  from: number,
): Deciding<DecidedWrite<CommitState>> {
  switch (write.kind) {
    case 'put':
      return decidePut(state, write, from);
    case 'delete':
      return decideDelete(state, write, from);
    case 'assert-no-match':
      return decideNoMatch(state, write, from);
  }
}

/** The check only covers what the caller may search. */
// eslint-disable-next-line require-yield -- answered from the state alone
function* decideNoMatch(
  state: CommitState,
  { query }: GuardedWrite & { kind: 'assert-no-match' },
  from: number,
): Deciding<DecidedWrite<CommitState>> {
  const { caller } = state;
  const rulesOf: SearchRules = (type) => decide(caller, type, 'search');
  const rules = rulesOf(query.type);
  const restricted =
    rules === null
      ? NONE
      : restrict(caller.rules.model, query.criteria, query.type, rules, rulesOf, undefined, caller.rules);
  const criteria = settledCriteria(state, restricted);
  const write = {
    kind: 'assert-no-match',
    query: { ...query, criteria, project: homeOf(query.type, caller) },
  } as const;
  return { ready: [{ role: 'own', write, from, readRules: [] }], state };
}

type GuardedPut = GuardedWrite & { kind: 'put' };

/** Decides the creation or the next version of a resource; see `decideWrite`. */
function* decidePut(state: CommitState, write: GuardedPut, from: number): Deciding<DecidedWrite<CommitState>> {
  const { caller, stored, validation } = state;
  const { type, id } = write.key;
  const current = currentResource(state, write.key);
  const { after, kept, rule } = yield* grantPut(state, write, from, current.resource);
  assertPatientLink(caller, current.resource, after, stored.deleted.has(referenceTo(type, id)));
  if (type === 'AccessPolicy') assertPolicyWrite(caller.rules.model, after, state.hasTerminology);
  if (type === 'Subscription') assertSubscriptionWrite(caller, after, kept);
  // Validates what the writer sent: hidden parts must not affect the outcome.
  const validating = validatingWrite(
    state.caller.rules.model,
    { key: write.key, resource: stamp(write.resource, caller) },
    from,
    validation,
    // Its size was checked before any read.
    { maxBytes: Number.MAX_SAFE_INTEGER, maxValues: Number.MAX_SAFE_INTEGER },
    kept,
  );
  for (const _ of validating) yield STEP;
  const expect = expectationOf(write, from, current);
  const next = withWritten(state, write.key, after);
  const readers = yield* grantingRules(next, 'read', after);
  const key = { ...write.key, project: homeOf(type, caller) };
  const confirmed = confirmGrants(state, [rule], key, from);
  const ready = [
    ...(current.resource === null ? [] : confirmed),
    ...sideWritesOfPut(key, caller, from, after),
    {
      role: 'own',
      write: { kind: 'put', key, resource: after, expect, unique: uniqueKeysOf(after) },
      from,
      // A caller who may write but not read gets its own request back, without kept fields.
      readRules: readers.length === 0 ? [unrestrictedRule('what the writer sent', [...kept])] : readers,
      unreadable: readers.length === 0,
    } as const,
    ...confirmed,
  ];
  return { ready, state: next };
}

/** The resource to store, and the granting rule. */
interface GrantedPut extends KeptFields {
  readonly rule: AccessRule;
}

/** The first rule that allows the write. @throws FhirError - no rule does; the error of the first one */
function* grantPut(
  state: CommitState,
  write: GuardedPut,
  from: number,
  before: AnyResource | null,
): Deciding<GrantedPut> {
  const { rules: all } = state.caller;
  const updating = before === null ? [] : yield* grantingRulesBefore(state, 'update', before);
  if (updating.length === 0 && before !== null && (yield* canRead(state, before))) {
    throw forbidden(write.key.type, 'update');
  }
  // Throws where something is stored that the caller may not update.
  const granting = updating.length > 0 ? updating : creatingRules(state, write, from, before);
  const readers = before === null ? [] : yield* grantingRulesBefore(state, 'read', before);
  const shown = before === null ? null : readers.length === 0 ? bare(before) : maskResource(before, readers, all);
  const kept = assertGuarded(write.resource, shown, all);
  const replaced = { before, shown, unread: before !== null && readers.length === 0, kept };
  const forms = new StoredForms(state, write.resource, replaced);
  let refusal: FhirError | undefined;
  for (const rule of granting) {
    const outcome = yield* resourceUnderRule(forms, rule);
    if ('after' in outcome) return { ...outcome, rule };
    refusal ??= outcome;
  }
  throw refusal!;
}

/**
 * The rules for creating a resource under an id that is free or hidden from the caller.
 *
 * Both must look alike. Callers who read every resource of the type may choose ids. For all others an id must be
 * generated by this library, or the resource counts as missing: the answer to a chosen id would reveal its existence.
 */
function creatingRules(
  { caller }: CommitState,
  { key, expect, generatedId }: GuardedPut,
  from: number,
  before: AnyResource | null,
): readonly AccessRule[] {
  const { type, id } = key;
  const rules = decide(caller, type, 'create');
  if (rules === null && (expect?.version === null || decide(caller, type, 'update') === null)) {
    throw forbidden(type, expect?.version === null ? 'create' : 'update');
  }
  if (typeof expect?.version === 'string') throw unexpected(key, from, expect, null);
  if (rules !== null && before === null && (generatedId === true || readsAll(caller, type))) return rules;
  throw notFound({ type, id }, rules === null ? '' : '; a new one gets its id from the server');
}

/** A writer that may not read the resource only gets its type and id. */
function bare({ resourceType, id }: AnyResource): AnyResource {
  return { resourceType, id: id! };
}

/** The resource replaced by a write; `before` and `shown` are null on creation. */
interface Replaced {
  readonly before: AnyResource | null;
  /** The same as shown to the writer. */
  readonly shown: AnyResource | null;
  /** The writer may not read it. */
  readonly unread: boolean;
  /** The elements guarded from the writer. */
  readonly kept: ReadonlySet<string>;
}

/** A resource as rules with the same read-only fields allow it to be stored. */
interface StoredForm extends KeptFields {
  readonly subject: () => SearchSubject;
}

/** The {@link StoredForm}s of a written resource. Hundreds of rules have few different read-only fields. */
class StoredForms {
  readonly #byFields = new Map<string, StoredForm | FhirError>();

  constructor(
    readonly state: CommitState,
    private readonly asked: AnyResource,
    readonly replaced: Replaced,
  ) {}

  get type(): string {
    return this.asked.resourceType;
  }

  under({ readonlyFields }: AccessRule): StoredForm | FhirError {
    return getOrCreate(this.#byFields, readonlyFields.join(), () => this.#with(readonlyFields));
  }

  #with(fields: readonly string[]): StoredForm | FhirError {
    const { state, asked, replaced } = this;
    const { before, shown, unread, kept } = replaced;
    const link = unread ? fixedLink(state.caller, asked) : [];
    const readonly = [...fields, ...link];
    const fixed = keepFields(state.caller.rules.model, before, asked, { kept, readonly, shown, unread });
    if (fixed instanceof FhirError) return fixed;
    // Decided in its stored form: writers cannot set author, project and time in `meta`.
    const after = stamp(withoutStoredVersion(fixed.after), state.caller);
    return { after, kept: fixed.kept, subject: subjectIn(state, after) };
  }
}

/** The resource as the rule allows it to be stored, or a `forbidden` error. */
function* resourceUnderRule(forms: StoredForms, rule: AccessRule): Deciding<KeptFields | FhirError> {
  const { state, type } = forms;
  const form = forms.under(rule);
  if (form instanceof FhirError) return form;
  const { after, kept, subject } = form;
  if (!(yield* grants(state, rule, after, subject))) {
    return new FhirError(
      'forbidden',
      `Not allowed to write this ${type}: the access policy does not grant the resource that it would become`,
    );
  }
  if (
    !rule.writeConstraints.every((expression) =>
      constraintHolds(state.caller.rules.model, expression, forms.replaced.before, after),
    )
  ) {
    return new FhirError('forbidden', `A write constraint of the access policy does not hold for this ${type}`);
  }
  return { after, kept };
}

function constraintHolds(
  model: FhirModel,
  expression: string,
  before: AnyResource | null,
  after: AnyResource,
): boolean {
  const [was, is] = [before === null ? [] : withoutSecrets(before), withoutSecrets(after)];
  const result = compileFhirPath(model, expression, after.resourceType)(is, { before: was, after: is });
  return result.length === 1 && result[0] === true;
}

/** Decides the deletion of a resource; see `decideWrite`. */
function* decideDelete(
  state: CommitState,
  write: GuardedWrite & { kind: 'delete' },
  from: number,
): Deciding<DecidedWrite<CommitState>> {
  const { caller } = state;
  const { type, id } = write.key;
  if (decide(caller, type, 'delete') === null) throw forbidden(type, 'delete');
  const current = currentResource(state, write.key);
  const before = current.resource;
  const granting = before === null ? [] : yield* grantingRulesBefore(state, 'delete', before);
  if (before === null || granting.length === 0) {
    if (before !== null && (yield* canRead(state, before))) throw forbidden(type, 'delete');
    // Deleting a resource that is missing or hidden changes nothing.
    if (typeof write.expect?.version === 'string') throw unexpected(write.key, from, write.expect, null);
    if (write.mustExist === true && !knowsDeletion(state, write.key)) throw notFound({ type, id });
    return { ready: [{ role: 'unchanged', from, answer: { kind: 'delete', versionId: null } }], state };
  }
  const expect = expectationOf(write, from, current);
  const key = { ...write.key, project: homeOf(type, caller) };
  return {
    ready: [
      ...confirmGrants(state, granting, key, from),
      ...sideWritesOfDelete(key, caller, from, before),
      { role: 'own', write: { kind: 'delete', key, expect }, from, readRules: [] },
    ],
    state: withWritten(state, write.key, null),
  };
}

/**
 * True for callers who may learn of a deletion: the commit itself deleted the resource, or a rule grants the whole
 * type.
 */
function knowsDeletion({ caller, written, stored }: CommitState, { type, id }: GuardedKey): boolean {
  return written.get(type, id) === null || (stored.deleted.has(referenceTo(type, id)) && readsAll(caller, type));
}

/** No rule of the caller allows the interaction with any resource of the type, or with one that it reads. */
export function forbidden(type: string, interaction: Interaction): FhirError {
  const operations = type === 'Project' && interaction !== 'create' ? undefined : OPERATIONS.get(type);
  const hint = operations === undefined ? '' : `; use ${operations}`;
  return new FhirError('forbidden', `Not allowed to ${interaction} ${type}${hint}`);
}

/**
 * The routes for types that the repository and mutations cannot write. Clients and Bots have none: the application makes
 * them, by `createClient` and `createBot`.
 */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['Project', 'POST Project'],
  ['ProjectMembership', 'POST /admin/projects/[project]/invite, or PATCH or DELETE of …/members/[membership]'],
]);

const LINK = ['patient', 'active', 'period'] as const;

/**
 * The elements of a RelatedPerson that {@link assertPatientLink} keeps as they are. A writer that may not read it omits
 * them: comparing them with stored values would confirm guesses.
 */
export function fixedLink(caller: MemberCaller, { resourceType, id }: AnyResource): readonly string[] {
  if (resourceType !== 'RelatedPerson') return [];
  if (isOwn(caller, id)) return LINK;
  return linksAnyone(caller) ? [] : ['patient'];
}

/**
 * Rejects writes that would choose the compartment a RelatedPerson sees.
 *
 * - Nobody changes the link of its own profile: `patient`, `active` and `period` stay as they are.
 * - `RelatedPerson.patient` of others changes only by callers who read every Patient, and by project administrators:
 * others could grant a RelatedPerson more than they see themselves. The same applies to restoring a deleted one.
 *
 * The result depends only on the caller's rules and on the elements that the caller sees, so it reveals nothing: {@link
 * fixedLink} keeps callers from sending fixed elements that they cannot see.
 *
 * @param before null if there is no current version
 * @param deleted true if there was one before
 * @throws FhirError `forbidden`
 */
export function assertPatientLink(
  caller: MemberCaller,
  before: AnyResource | null,
  after: AnyResource,
  deleted: boolean,
): void {
  if (after.resourceType !== 'RelatedPerson') return;
  const own = isOwn(caller, after.id);
  if (!own && linksAnyone(caller)) return;
  const changed =
    before === null
      ? own || deleted
        ? 'patient'
        : undefined
      : fixedLink(caller, after).find((name) => differ(before, after, name));
  if (changed === undefined) return;
  const reason = own
    ? 'it decides what you may see yourself'
    : 'only callers who read every Patient, and project administrators, may';
  throw new FhirError('forbidden', `Not allowed to change RelatedPerson.${changed}: ${reason}`, {
    issues: [
      {
        code: 'forbidden',
        diagnostics: `This element cannot be changed: ${reason}`,
        expression: [`RelatedPerson.${changed}`],
      },
    ],
  });
}

function differ(before: AnyResource, after: AnyResource, name: string): boolean {
  const [was, is] = [elementsOf(before), elementsOf(after)];
  return [name, `_${name}`].some((key) => !sameJson(was[key], is[key]));
}

function isOwn({ profile }: MemberCaller, id: string | undefined): boolean {
  return id !== undefined && referenceTo('RelatedPerson', id) === profile;
}

function linksAnyone(caller: MemberCaller): boolean {
  return caller.admin || readsAll(caller, 'Patient');
}
