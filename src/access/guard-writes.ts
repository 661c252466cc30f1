import { FhirError } from '../fhir/error.js';
import { elementsOf, type AnyResource } from '../fhir/resource.js';
import { compileFhirPath } from '../fhirpath/compile.js';
import {
  ABOVE_PROJECTS,
  type CallOptions,
  type ReadResult,
  type ResourceKey,
  type ResourceStore,
  type Write,
  type WriteResult,
} from '../store/store.js';
import { and, not, type Criteria } from '../search/criteria.js';
import type { Caller, MemberCaller } from './caller.js';
import { decide } from './decide.js';
import { evaluateCriteria } from './evaluate-criteria.js';
import type { GuardedKey, GuardedWrite } from './guarded-store.js';
import { maskResource } from './mask-resource.js';
import { isAboveProjects } from './policy/administrative-types.js';
import { hasField, withFieldsOf } from './policy/hidden-fields.js';
import type { AccessRule, Interaction } from './policy/rule.js';
import { restrict } from './policy/restrict.js';
import { assertPolicyWrite } from './policy/assert-policy-write.js';
import { uniqueKeysOf } from './unique-keys.js';

/** A write ready for the store; `from` is the position of the caller's write that it belongs to. */
interface ReadyWrite {
  readonly write: Write;
  readonly from: number;
  /** The rule that granted it, whose hidden fields stay hidden in the result. */
  readonly rule: AccessRule | undefined;
}

/** How often a write is decided anew when another one came between decision and commit. */
const ATTEMPTS = 5;

/** Behind `GuardedStore.commit`, where the promises are. */
export async function commitGuarded(
  store: ResourceStore,
  caller: Caller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<readonly WriteResult[]> {
  for (let attempt = 1; ; attempt += 1) {
    const ready =
      caller.kind === 'system' ? systemWrites(caller, writes) : await memberWrites(store, caller, writes, options);
    try {
      const results = await store.commit(
        ready.map(({ write }) => write),
        options,
      );
      return resultsFor(writes, ready, results, caller);
    } catch (error) {
      if (!(error instanceof FhirError)) throw error;
      const at = typeof error.details?.['index'] === 'number' ? ready[error.details['index']] : undefined;
      if (at === undefined) throw error;
      // The decision was about a version that is no longer current; the caller itself demanded none.
      if (error.code === 'precondition-failed' && isOwnExpectation(writes[at.from]!, at.write) && attempt < ATTEMPTS)
        continue;
      throw explain(error, at, writes);
    }
  }
}

function systemWrites(caller: Caller, writes: readonly GuardedWrite[]): ReadyWrite[] {
  return writes.flatMap((write, from): ReadyWrite[] => {
    if (write.kind === 'unmatched') {
      return [
        {
          write: { kind: 'unmatched', query: { ...write.query, project: home(write.query.type, caller) } },
          from,
          rule: undefined,
        },
      ];
    }
    const key = { ...write.key, project: home(write.key.type, caller) };
    const before = [...profileChecks(write, key, caller, from), ...directoryWrites(write, key, from)];
    if (write.kind === 'delete') return [...before, { write: { ...write, key }, from, rule: undefined }];
    if (write.resource.resourceType === 'AccessPolicy') assertPolicyWrite(write.resource);
    const resource = stamp(write.resource, caller);
    const unique = [...(write.unique ?? []), ...uniqueKeysOf(resource)];
    return [...before, { write: { ...write, key, resource, unique }, from, rule: undefined }];
  });
}

async function memberWrites(
  store: ResourceStore,
  caller: MemberCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<ReadyWrite[]> {
  const keys = writes.flatMap((write) =>
    write.kind === 'unmatched' ? [] : [{ ...write.key, project: home(write.key.type, caller) }],
  );
  const found = await store.read(keys, options);
  const state = new Map<string, AnyResource | null>();
  const versions = new Map<string, string | null>();
  keys.forEach(({ type, id }, index) => {
    const result = found[index]!;
    versions.set(`${type}/${id}`, result.status === 'found' ? result.versionId : null);
    state.set(`${type}/${id}`, result.status === 'found' ? result.resource : null);
  });
  const session = new WriteSession(store, caller, found, state, versions);
  const ready: ReadyWrite[] = [];
  for (const [from, write] of writes.entries()) {
    try {
      ready.push(...(await session.decide(write, from)));
    } catch (error) {
      if (error instanceof FhirError && error.details?.['index'] === undefined) throw withIndex(error, from);
      throw error;
    }
  }
  return ready;
}

/** The writes of one commit, decided in their order: each sees what those before it will have done. */
class WriteSession {
  /** What the writes so far make of resources, by `Type/id`; null for deleted ones. */
  readonly #overlay = new Map<string, AnyResource | null>();

  constructor(
    private readonly store: ResourceStore,
    private readonly caller: MemberCaller,
    _found: readonly ReadResult[],
    private readonly stored: ReadonlyMap<string, AnyResource | null>,
    private readonly versions: ReadonlyMap<string, string | null>,
  ) {}

  async decide(write: GuardedWrite, from: number): Promise<ReadyWrite[]> {
    if (write.kind === 'unmatched') return [this.#unmatched(write, from)];
    const { type, id } = write.key;
    const name = `${type}/${id}`;
    const key = { ...write.key, project: home(type, this.caller) };
    const before = this.#overlay.has(name) ? this.#overlay.get(name)! : (this.stored.get(name) ?? null);
    const first = !this.#overlay.has(name);
    const expect = write.expect ?? (first ? { version: this.versions.get(name) ?? null } : undefined);
    if (write.kind === 'delete') {
      const rule = await this.#grantDelete(write.key, before);
      this.#overlay.set(name, null);
      return [...profileChecks(write, key, this.caller, from), { write: { kind: 'delete', key, expect }, from, rule }];
    }
    const { after, rule } = await this.#grantPut(write.key, before, write.resource);
    if (type === 'AccessPolicy') assertPolicyWrite(after);
    const resource = stamp(after, this.caller);
    this.#overlay.set(name, resource);
    return [{ write: { kind: 'put', key, resource, expect, unique: uniqueKeysOf(resource) }, from, rule }];
  }

  #unmatched(write: GuardedWrite & { kind: 'unmatched' }, from: number): ReadyWrite {
    const { query } = write;
    const rules = this.#rules(query.type, 'search');
    const criteria =
      rules === null ? NOTHING : restrict(query.criteria, query.type, rules, (type) => this.#rules(type, 'search'));
    return {
      write: { kind: 'unmatched', query: { ...query, criteria, project: home(query.type, this.caller) } },
      from,
      rule: undefined,
    };
  }

  async #grantDelete(key: GuardedKey, before: AnyResource | null): Promise<AccessRule> {
    const rules = this.#rules(key.type, 'delete');
    if (rules === null) throw forbidden(this.caller, key.type, 'delete');
    // Deleting what is not there changes nothing, and so does deleting what is not there for this caller.
    if (before === null) return rules[0]!;
    for (const rule of rules) if (await this.#holds(rule, before)) return rule;
    throw (await this.#sees(key.type, before)) ? forbidden(this.caller, key.type, 'delete') : missing(key);
  }

  async #grantPut(
    key: GuardedKey,
    before: AnyResource | null,
    asked: AnyResource,
  ): Promise<{ readonly after: AnyResource; readonly rule: AccessRule }> {
    const interaction = before === null ? 'create' : 'update';
    const rules = this.#rules(key.type, interaction);
    const granting: AccessRule[] = [];
    if (before === null) granting.push(...(rules ?? []));
    else for (const rule of rules ?? []) if (await this.#holds(rule, before)) granting.push(rule);
    if (granting.length === 0) {
      if (before !== null && !(await this.#sees(key.type, before))) throw missing(key);
      throw forbidden(this.caller, key.type, interaction);
    }
    let refusal: FhirError | undefined;
    for (const rule of granting) {
      const outcome = await this.#tryPut(key, before, asked, rule);
      if (!(outcome instanceof FhirError)) return { after: outcome, rule };
      refusal ??= outcome;
    }
    throw refusal!;
  }

  /** The resource as the rule lets it be written; an error where it does not. */
  async #tryPut(
    key: GuardedKey,
    before: AnyResource | null,
    asked: AnyResource,
    rule: AccessRule,
  ): Promise<AnyResource | FhirError> {
    const fixed = [...rule.hidden, ...rule.readonlyFields];
    const changed = fixed.find((path) => hasField(asked, path) && (before === null || !sameField(before, asked, path)));
    if (changed !== undefined) {
      return new FhirError('forbidden', `Not allowed to write the field ${changed} of ${key.type}`, {
        issues: [
          { code: 'forbidden', diagnostics: 'This field cannot be written', expression: [`${key.type}.${changed}`] },
        ],
      });
    }
    const after = before === null ? asked : withFieldsOf(before, asked, fixed);
    if (!(await this.#holds(rule, after))) {
      return new FhirError(
        'forbidden',
        `Not allowed to write a ${key.type} like this: it would lie outside what the access policy grants`,
      );
    }
    for (const expression of rule.writeConstraints) {
      const result = compileFhirPath(expression, key.type)(after, { before: before ?? [], after });
      if (result.length !== 1 || result[0] !== true) {
        return new FhirError('forbidden', `A write constraint of the access policy does not hold for this ${key.type}`);
      }
    }
    return after;
  }

  #holds(rule: AccessRule, resource: AnyResource): Promise<boolean> {
    const { store, caller } = this;
    return evaluateCriteria(rule.criteria, resource, {
      store,
      project: home(resource.resourceType, caller),
      overlay: this.#overlay,
    });
  }

  async #sees(type: string, resource: AnyResource): Promise<boolean> {
    for (const rule of this.#rules(type, 'read') ?? []) if (await this.#holds(rule, resource)) return true;
    return false;
  }

  #rules(type: string, interaction: Interaction): readonly AccessRule[] | null {
    return decide(this.caller, type, interaction);
  }
}

const NOTHING = { kind: 'none' } as const;

const PROFILE_TYPES: ReadonlySet<string> = new Set([
  'Patient',
  'Practitioner',
  'RelatedPerson',
  'ClientApplication',
  'Bot',
]);

/** A profile that a membership references stays: without it the member could not sign in. */
function profileChecks(write: GuardedWrite, key: ResourceKey, caller: Caller, from: number): ReadyWrite[] {
  if (write.kind !== 'delete' || !PROFILE_TYPES.has(key.type)) return [];
  const test = { kind: 'reference', types: [key.type], id: key.id } as const;
  return [
    {
      write: {
        kind: 'unmatched',
        query: {
          project: caller.project,
          type: 'ProjectMembership',
          criteria: { kind: 'match', parameter: 'profile', test },
        },
      },
      from,
      rule: undefined,
    },
  ];
}

/**
 * Memberships lie in their projects; above the projects stands a directory entry per membership that says in which, so
 * that a membership alone is enough to sign in. Its id is therefore unique over all projects.
 */
function directoryWrites(write: GuardedWrite, key: ResourceKey, from: number): ReadyWrite[] {
  if (key.type !== 'ProjectMembership' || write.kind === 'unmatched') return [];
  const entry: ResourceKey = { ...key, project: ABOVE_PROJECTS };
  if (write.kind === 'delete') return [{ write: { kind: 'delete', key: entry }, from, rule: undefined }];
  const project = { reference: `Project/${key.project}` };
  const elsewhere: Criteria = and([
    { kind: 'id', ids: [key.id] },
    not({ kind: 'match', parameter: 'project', test: { kind: 'reference', types: ['Project'], id: key.project } }),
  ]);
  const query = { project: ABOVE_PROJECTS, type: key.type, criteria: elsewhere };
  const resource = { resourceType: key.type, id: key.id, project };
  return [
    { write: { kind: 'unmatched', query }, from, rule: undefined },
    { write: { kind: 'put', key: entry, resource }, from, rule: undefined },
  ];
}

/** Who wrote it and where: Medplum's `meta.author` and `meta.project`. */
function stamp(resource: AnyResource, caller: Caller): AnyResource {
  const meta = {
    ...resource.meta,
    ...(isAboveProjects(resource.resourceType) ? {} : { project: caller.project }),
    ...(caller.kind === 'member' ? { author: { reference: caller.profile } } : {}),
  };
  return { ...resource, meta };
}

function home(type: string, caller: Caller): string {
  return isAboveProjects(type) ? ABOVE_PROJECTS : caller.project;
}

function sameField(before: AnyResource, after: AnyResource, path: string): boolean {
  const [head] = path.split('.') as [string];
  const restored = withFieldsOf(before, after, [head]);
  return JSON.stringify(sorted(elementsOf(restored))) === JSON.stringify(sorted(elementsOf(after)));
}

/** Keys in order, so that JSON texts compare as values. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner)]);
}

/** One result per write of the caller's, without those of the checks this module added. */
function resultsFor(
  writes: readonly GuardedWrite[],
  ready: readonly ReadyWrite[],
  results: readonly WriteResult[],
  caller: Caller,
): WriteResult[] {
  const answers = new Array<WriteResult>(writes.length);
  ready.forEach(({ from, rule }, index) => {
    const result = results[index]!;
    // What this module added stands before the caller's own write, which therefore has the last word.
    if (result.kind !== writes[from]!.kind) return;
    const all = caller.kind === 'member' ? caller.rules : undefined;
    answers[from] =
      result.kind === 'put' && rule !== undefined
        ? { ...result, resource: maskResource(result.resource, [rule], all) }
        : result;
  });
  return answers;
}

function isOwnExpectation(asked: GuardedWrite, write: Write): boolean {
  return asked.kind !== 'unmatched' && asked.expect === undefined && write.kind !== 'unmatched';
}

/** The store's error about a write that this module made of the caller's, in the caller's terms. */
function explain(error: FhirError, at: ReadyWrite, writes: readonly GuardedWrite[]): FhirError {
  const asked = writes[at.from]!;
  if (error.code === 'conflict' && at.write.kind === 'unmatched' && asked.kind === 'delete') {
    const membership = error.details?.['holder'];
    return new FhirError(
      'conflict',
      `${asked.key.type}/${asked.key.id} is the profile of ${String(membership)} and cannot be deleted; remove the member first`,
      { details: { index: at.from, membership }, cause: error },
    );
  }
  return withIndex(error, at.from);
}

function withIndex(error: FhirError, index: number): FhirError {
  return new FhirError(error.code, error.message, {
    issues: error.issues,
    details: { ...error.details, index },
    cause: error.cause ?? error,
  });
}

function missing({ type, id }: GuardedKey): FhirError {
  return new FhirError('not-found', `${type}/${id} was not found`);
}

function forbidden(_caller: MemberCaller, type: string, interaction: Interaction): FhirError {
  const hint =
    type === 'ProjectMembership'
      ? '; use invite, updateMember or removeMember'
      : type === 'Project' && interaction === 'create'
        ? '; use createProject'
        : '';
  return new FhirError('forbidden', `Not allowed to ${interaction} ${type}${hint}`);
}
