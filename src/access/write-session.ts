import { FhirError } from '../fhir/error.js';
import { elementsOf, type AnyResource } from '../fhir/resource.js';
import { compileFhirPath } from '../fhirpath/compile.js';
import type { ResourceStore } from '../store/store.js';
import type { MemberCaller } from './caller.js';
import { decide } from './decide.js';
import { evaluateCriteria } from './evaluate-criteria.js';
import type { GuardedKey, GuardedWrite } from './guarded-store.js';
import { homeOf } from './home-of.js';
import { assertPolicyWrite } from './policy/assert-policy-write.js';
import { hasField, withFieldsOf } from './policy/hidden-fields.js';
import { restrict } from './policy/restrict.js';
import type { AccessRule, Interaction } from './policy/rule.js';
import type { ReadyWrite } from './ready-write.js';
import { uniqueKeysOf } from './unique-keys.js';
import { companionsOf, stamp } from './write-companions.js';

/** The writes of one commit, decided in their order: each sees what those before it will have done. */
export class WriteSession {
  /** What the writes so far make of resources, by `Type/id`; null for deleted ones. */
  readonly #overlay = new Map<string, AnyResource | null>();

  constructor(
    private readonly store: ResourceStore,
    private readonly caller: MemberCaller,
    private readonly stored: ReadonlyMap<string, AnyResource | null>,
    private readonly versions: ReadonlyMap<string, string | null>,
  ) {}

  async decide(write: GuardedWrite, from: number): Promise<ReadyWrite[]> {
    if (write.kind === 'unmatched') return [this.#unmatched(write, from)];
    const { type, id } = write.key;
    const name = `${type}/${id}`;
    const key = { ...write.key, project: homeOf(type, this.caller) };
    const before = this.#overlay.has(name) ? this.#overlay.get(name)! : (this.stored.get(name) ?? null);
    const first = !this.#overlay.has(name);
    const expect = write.expect ?? (first ? { version: this.versions.get(name) ?? null } : undefined);
    if (write.kind === 'delete') {
      const rule = await this.#grantDelete(write.key, before);
      this.#overlay.set(name, null);
      return [...companionsOf(write, key, this.caller, from), { write: { kind: 'delete', key, expect }, from, rule }];
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
      write: { kind: 'unmatched', query: { ...query, criteria, project: homeOf(query.type, this.caller) } },
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
      project: homeOf(resource.resourceType, caller),
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
