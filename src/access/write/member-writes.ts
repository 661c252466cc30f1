import { FhirError } from '../../fhir/error.js';
import type { AnyResource } from '../../fhir/resource.js';
import { compileFhirPath } from '../../fhirpath/compile.js';
import { NONE } from '../../search/criteria/criteria.js';
import { expectationFailed } from '../../store/conflicts.js';
import { SERVER_SCOPE, type Expectation, type ResourceKey, type ResourceStore, type Write } from '../../store/store.js';
import type { MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import { evaluateCriteria, isLocal } from '../evaluate/evaluate-criteria.js';
import type { GuardedKey, GuardedWrite } from '../contract.js';
import type { GrantedBefore } from '../evaluate/granted-before.js';
import { homeOf } from '../home-of.js';
import { maskResource, withoutSecrets } from '../fields/mask-resource.js';
import { assertPatientLink, fixedLink } from '../sign-in/related-patient.js';
import { resolveMemberUsers } from '../evaluate/member-users.js';
import { overlaidWith, WrittenResources } from '../evaluate/overlay.js';
import { assertPolicyWrite } from '../policy/assert-policy-write.js';
import { restrict } from '../read/restrict.js';
import { unrestrictedRule, type AccessRule, type Interaction } from '../rule.js';
import { confirmGrants } from './confirm-grants.js';
import type { ReadyWrite } from './ready-write.js';
import { uniqueKeysOf } from './unique-keys.js';
import { validateWrite, type Strictness } from './validate-writes.js';
import { sideWrites, stamp, withoutVersion } from './side-writes.js';
import { assertGuarded, keepFields, type KeptFields } from '../fields/keep-fields.js';

/** The writes of one commit, decided in their order: each sees what those before it will have done. */
export class WriteSession {
  /** What the writes so far make of resources. */
  readonly #overlay = new WrittenResources();

  /**
   * @param stored what the store holds of the resources to be written
   */
  constructor(
    readonly store: ResourceStore,
    readonly caller: MemberCaller,
    private readonly stored: StoredState,
    private readonly strictness: Strictness,
  ) {}

  async decide(write: GuardedWrite, from: number): Promise<ReadyWrite[]> {
    if (write.kind === 'unmatched') return [await this.#unmatched(write, from)];
    const { type, id } = write.key;
    const name = `${type}/${id}`;
    const written = this.#overlay.get(type, id);
    const first = written === undefined;
    const stored = this.stored.granted.get(name)?.row;
    const before = (first ? stored?.resource : written) ?? null;
    const version = first ? (stored?.versionId ?? null) : undefined;
    if (write.kind === 'delete') return this.#delete(write, from, before, version);
    const { after, kept, rule, existing } = await this.#grantPut(write, from, before);
    assertPatientLink(this.caller, before, after, this.stored.deleted.has(name));
    if (type === 'AccessPolicy') assertPolicyWrite(after);
    // What the writer sent is judged: the parts that it does not see must not show in the outcome.
    const sent = stamp(write.resource, this.caller);
    validateWrite({ key: write.key, resource: sent }, from, this.strictness, kept);
    const expect = this.#expect(write, from, version);
    this.#write(type, id, after);
    const readers = await this.#granting(type, 'read', after);
    const key = { ...write.key, project: homeOf(type, this.caller) };
    const confirmed = await confirmGrants([rule], key, from, this);
    return [
      ...(existing === null ? [] : confirmed),
      {
        write: { kind: 'put', key, resource: after, expect, unique: uniqueKeysOf(after) },
        from,
        // Who may write but not read gets back what it wrote, and not what was kept.
        rulesForAnswer: readers.length === 0 ? [unrestrictedRule('what the writer sent', [...kept])] : readers,
        unreadable: readers.length === 0,
      },
      ...confirmed,
    ];
  }

  async #unmatched(write: GuardedWrite & { kind: 'unmatched' }, from: number): Promise<ReadyWrite> {
    const { query } = write;
    const rules = this.#rules(query.type, 'search');
    const joined =
      rules === null ? NONE : restrict(query.criteria, query.type, rules, (type) => this.#rules(type, 'search'));
    const criteria = await resolveMemberUsers(this.store, this.caller, joined, undefined);
    return {
      write: { kind: 'unmatched', query: { ...query, criteria, project: homeOf(query.type, this.caller) } },
      from,
      rulesForAnswer: [],
    };
  }

  async #delete(
    write: GuardedWrite & { kind: 'delete' },
    from: number,
    before: AnyResource | null,
    version: string | null | undefined,
  ): Promise<ReadyWrite[]> {
    const { type, id } = write.key;
    if (this.#rules(type, 'delete') === null) throw forbidden(type, 'delete');
    const granting = before === null ? [] : await this.#grantingBefore(type, 'delete', before);
    if (granting.length > 0) {
      const expect = this.#expect(write, from, version);
      const key = { ...write.key, project: homeOf(type, this.caller) };
      this.#write(type, id, null);
      return [
        ...(await confirmGrants(granting, key, from, this)),
        ...sideWrites(write, key, this.caller, from, before),
        { write: { kind: 'delete', key, expect }, from, rulesForAnswer: [] },
      ];
    }
    if (before !== null && (await this.#sees(type, before))) throw forbidden(type, 'delete');
    // Deleting what is not there changes nothing, and so does deleting what is not there for this caller.
    if (typeof write.expect?.version === 'string') throw expectationFailed(from, home(write.key), write.expect, null);
    if (write.mustExist === true && !this.#knowsDeletion(type, id)) {
      throw new FhirError('not-found', `${type}/${id} was not found`);
    }
    return [{ write: NO_WRITE, from, rulesForAnswer: [], answer: { kind: 'delete', versionId: null } }];
  }

  /** A deletion is told to who made it just now, and where a rule opens the type as a whole. */
  #knowsDeletion(type: string, id: string): boolean {
    const deleted = this.stored.deleted.has(`${type}/${id}`) && this.#seesAll(type);
    return this.#overlay.get(type, id) === null || deleted;
  }

  #write(type: string, id: string, resource: AnyResource | null): void {
    this.#overlay.set(type, id, resource, this.stored.granted.has(`${type}/${id}`));
  }

  async #grantPut(
    write: GuardedWrite & { kind: 'put' },
    from: number,
    before: AnyResource | null,
  ): Promise<GrantedPut> {
    const { type } = write.key;
    const updating = before === null ? [] : await this.#grantingBefore(type, 'update', before);
    if (updating.length === 0 && before !== null && (await this.#sees(type, before))) throw forbidden(type, 'update');
    const granting = updating.length > 0 ? updating : this.#grantCreate(write, from, before);
    const existing = updating.length > 0 ? before : null;
    const readers = existing === null ? [] : await this.#grantingBefore(type, 'read', existing);
    const shown = existing === null ? null : this.#shown(existing, readers);
    const kept = assertGuarded(write.resource, shown, this.caller.rules);
    let refusal: FhirError | undefined;
    for (const rule of granting) {
      const outcome = await this.#tryPut(rule, write.resource, { before: existing, shown, readers, kept });
      if (!(outcome instanceof FhirError)) return { ...outcome, rule, existing };
      refusal ??= outcome;
    }
    throw refusal!;
  }

  /**
   * The rules by which something new may be written where nothing is, or nothing that the caller may know of.
   *
   * Both must look alike. Callers who read every resource of the type may choose ids. For all others an id is either one
   * that this library made for the resource, or that of a missing one: the answer to a chosen id would reveal what it names.
   */
  #grantCreate(
    { key, expect, generatedId }: GuardedWrite & { kind: 'put' },
    from: number,
    before: AnyResource | null,
  ): readonly AccessRule[] {
    const { type, id } = key;
    const rules = this.#rules(type, 'create');
    if (rules === null && (expect?.version === null || this.#rules(type, 'update') === null)) {
      throw forbidden(type, expect?.version === null ? 'create' : 'update');
    }
    if (typeof expect?.version === 'string') throw expectationFailed(from, home(key), expect, null);
    if (rules !== null && before === null && (generatedId === true || this.#seesAll(type))) return rules;
    const hint = rules === null ? '' : '; a new one gets its id from the server';
    throw new FhirError('not-found', `${type}/${id} was not found${hint}`);
  }

  /** Nothing but its name is shown to a writer that may not read it. */
  #shown(resource: AnyResource, readers: readonly AccessRule[]): AnyResource {
    const { resourceType, id } = resource;
    return readers.length === 0 ? { resourceType, id: id! } : maskResource(resource, readers, this.caller.rules);
  }

  /** The resource as the rule lets it be written; an error where it does not. */
  async #tryPut(
    rule: AccessRule,
    asked: AnyResource,
    { before, shown, readers, kept }: Replaced,
  ): Promise<KeptFields | FhirError> {
    const type = asked.resourceType;
    const unread = before !== null && readers.length === 0;
    const link = unread ? fixedLink(this.caller, asked) : [];
    const fixed = keepFields(before, asked, { kept, readonly: [...rule.readonlyFields, ...link], shown, unread });
    if (fixed instanceof FhirError) return fixed;
    // Judged as it will be stored: what `meta` says of author, project and time is not for the writer to claim.
    const after = stamp(withoutVersion(fixed.after), this.caller);
    if (!(await this.#holds(rule, after))) {
      return new FhirError(
        'forbidden',
        `Not allowed to write a ${type} like this: it would lie outside what the access policy grants`,
      );
    }
    for (const expression of rule.writeConstraints) {
      const [was, is] = [before === null ? [] : withoutSecrets(before), withoutSecrets(after)];
      const result = compileFhirPath(expression, type)(is, { before: was, after: is });
      if (result.length !== 1 || result[0] !== true) {
        return new FhirError('forbidden', `A write constraint of the access policy does not hold for this ${type}`);
      }
    }
    return { after, kept: fixed.kept };
  }

  /**
   * What must still hold when the store commits: the caller's own demand, else that the version decided about is current.
   *
   * @param version the version decided about; undefined after a write of the same commit
   */
  #expect(
    { expect, key }: Exclude<GuardedWrite, { kind: 'unmatched' }>,
    from: number,
    version: string | null | undefined,
  ): Expectation | undefined {
    if (expect === undefined) return version === undefined ? undefined : { version };
    // Otherwise the decision would be about another version than the one that is replaced.
    if (version !== undefined && expect.version !== version) throw expectationFailed(from, home(key), expect, version);
    return expect;
  }

  async #holds(rule: AccessRule, resource: AnyResource): Promise<boolean> {
    const { store, caller } = this;
    const criteria = await resolveMemberUsers(store, caller, rule.criteria, undefined);
    const project = homeOf(resource.resourceType, caller);
    // A chain may lead back to the resource itself, which then counts as it is judged and not as it is stored.
    const overlay = isLocal(criteria) ? this.#overlay : overlaidWith(this.#overlay, resource);
    return evaluateCriteria(criteria, resource, { store, project, overlay });
  }

  async #granting(type: string, interaction: Interaction, resource: AnyResource): Promise<AccessRule[]> {
    const granting: AccessRule[] = [];
    for (const rule of this.#rules(type, interaction) ?? []) {
      if (await this.#holds(rule, resource)) granting.push(rule);
    }
    return granting;
  }

  /**
   * The same for a resource as it is before. What earlier writes of the commit change may take it away from the caller,
   * and never gives it what it did not see: looking at what is stored unseen would tell by the calls that it is there.
   */
  async #grantingBefore(type: string, interaction: Interaction, before: AnyResource): Promise<readonly AccessRule[]> {
    if (this.#overlay.get(type, before.id!) !== undefined) return this.#granting(type, interaction, before);
    const granted = this.stored.granted.get(`${type}/${before.id!}`);
    const rules = (this.#rules(type, interaction) ?? []).filter((rule) => granted?.rules.has(rule) === true);
    if (this.#overlay.isEmpty) return rules;
    const still: AccessRule[] = [];
    for (const rule of rules) if (await this.#holds(rule, before)) still.push(rule);
    return still;
  }

  async #sees(type: string, before: AnyResource): Promise<boolean> {
    return (await this.#grantingBefore(type, 'read', before)).length > 0;
  }

  #seesAll(type: string): boolean {
    return (this.#rules(type, 'read') ?? []).some(({ criteria }) => criteria.kind === 'all');
  }

  #rules(type: string, interaction: Interaction): readonly AccessRule[] | null {
    return decide(this.caller, type, interaction);
  }
}

/** What the store holds of the resources to be written, by `Type/id`. */
interface StoredState {
  /** Of what is absent, that which was there once. */
  readonly deleted: ReadonlySet<string>;
  /** What is there, and the rules that grant it. */
  readonly granted: ReadonlyMap<string, GrantedBefore>;
}

/** What is to be stored, by which rule, and what it replaces; null for something new. */
interface GrantedPut extends KeptFields {
  readonly rule: AccessRule;
  readonly existing: AnyResource | null;
}

/** What a write replaces; `before` and `shown` are null where something new is created. */
interface Replaced {
  readonly before: AnyResource | null;
  readonly shown: AnyResource | null;
  /** The rules by which the writer reads it. */
  readonly readers: readonly AccessRule[];
  /** The elements that are guarded from the writer. */
  readonly kept: ReadonlySet<string>;
}

/** Stands for a write that changes nothing: no resource can match. */
const NO_WRITE: Write = {
  kind: 'unmatched',
  query: { project: SERVER_SCOPE, type: 'Project', criteria: NONE },
};

/** The messages of the store name type and id alone. */
function home(key: GuardedKey): ResourceKey {
  return { ...key, project: SERVER_SCOPE };
}

/** The operations that write what the repository and mutations do not. */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['Bot', 'createBot or updateBot'],
  ['ClientApplication', 'createClient, updateClient or rotateClientSecret'],
  ['Project', 'createProject'],
  ['ProjectMembership', 'invite, updateMember or removeMember'],
]);

function forbidden(type: string, interaction: Interaction): FhirError {
  const operations = type === 'Project' && interaction !== 'create' ? undefined : OPERATIONS.get(type);
  const hint = operations === undefined ? '' : `; use ${operations}`;
  return new FhirError('forbidden', `Not allowed to ${interaction} ${type}${hint}`);
}
