import type { AuditedEmergency } from '../audit/audit-record.js';
import { FhirError } from '../fhir/error.js';
import { idOf } from '../fhir/reference.js';
import { and, type Criteria, NONE, or } from '../search/criteria/criteria.js';
import { assertAffordable, MAX_RESTRICTED_COST } from '../search/parse/parse-context.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import { isAboveProjects, isProtected } from './fields/administrative-types.js';
import type { Narrowing } from './narrowing.js';
import type { SuperAdminPower } from './policy/policy-grant.js';
import type { AccessRule, AccessRules, RuleCondition } from './rule.js';

/**
 * The caller of an operation. Only this library creates callers, so that host code cannot forge a caller by accident.
 *
 * A caller names the project it works in and the author of its writes. The caller of a member has the rights as they
 * were at sign-in, and is rechecked while it is used; see `SignInOptions.recheckAfter`.
 */
export type Caller = SystemCaller | ServerCaller | MemberCaller;

/**
 * Trusted in-process code of one project: it may do anything with the resources of that project, and nothing elsewhere.
 *
 * Above projects, it can do what an administrator of the project needs: read the Users of the project's members, and
 * read and change the Project itself, except the operator's settings such as `superAdmin` and `systemSecret`. Bots with
 * `system: true` also belong to the operator.
 */
export interface SystemCaller {
  readonly kind: 'system';
  /** The id of the project whose resources this caller can use. */
  readonly project: string;
}

/** Trusted in-process code of the operator, above projects: it may do anything with Users and Projects. */
export interface ServerCaller {
  readonly kind: 'server';
  /** The id of the project that this caller can also use; `''` for a caller above projects only. */
  readonly project: string;
}

/** A person, client or Bot that signed in through a membership. */
export interface MemberCaller {
  readonly kind: 'member';
  readonly project: string;
  /** The id of the ProjectMembership. */
  readonly membership: string;
  /** `User/1`; `ClientApplication/1` or `Bot/1` for clients and Bots. */
  readonly user: string;
  /** `Practitioner/1`: the author of the writes. */
  readonly profile: string;
  /** May invite, change and remove members of the project. */
  readonly admin: boolean;
  /** Belongs to a super-admin project: may create projects and administer all. */
  readonly superAdmin: boolean;
  /** The super administrator's powers left by access policies; undefined if there are no policies. */
  readonly powers: ReadonlySet<SuperAdminPower> | undefined;
  /** True if access policies apply to the membership; false if the type of its profile decides. */
  readonly bound: boolean;
  /** The purpose of use for audit records, as passed to `signIn`. */
  readonly purpose?: string | undefined;
  /** The host's id of the request for audit records, as passed to `signIn`. */
  readonly requestId?: string | undefined;
  /** Set for a caller of `breakGlass`: the reason for the access, and when it ends. */
  readonly emergency?: AuditedEmergency | undefined;
  /** The narrowings applied to this caller, in order; see `narrowCaller`. */
  readonly narrowings?: readonly Narrowing[] | undefined;
  /** @internal The id of the Patient in whose name a RelatedPerson acts. */
  readonly patient?: string | undefined;
  /** @internal What the policies grant; `explainAccess` shows it. */
  readonly rules: AccessRules;
}

/** What a caller was created from. */
interface Origin {
  /** Of a member, with its rules before the contexts of Binaries were added. */
  readonly facts?: Omit<MemberCaller, 'kind'>;
  /** Of the host. */
  readonly clock?: (() => Date) | undefined;
}

/** The callers created by this module; no other object is a caller. */
const CALLERS = new WeakMap<object, Origin>();

/**
 * The caller for trusted code that works inside one project: imports, jobs, tests. It has no access to other projects,
 * and above projects only the access that {@link SystemCaller} lists. Use {@link serverCaller} for more.
 *
 * The project need not exist. In a store with Projects that is likely a mistake: the first write into a missing one
 * causes the process warning `FHIRGRAPH_PROJECT`, if this process has written a Project, or into one, before.
 *
 * @param project the id of the project, its `Project/id`, or a Reference to it
 * @throws FhirError `invalid` - the project is not named by an id
 *
 * @example
 * await executeFhirGraphql('{ PatientList { id } }', { store, caller: systemCaller('clinic') });
 */
export function systemCaller(project: string | { readonly reference?: string | undefined }): SystemCaller {
  const id = idOf(project, 'Project');
  if (id === undefined) throw new FhirError('invalid', 'systemCaller needs the id of a project');
  return genuine({ kind: 'system', project: id });
}

/**
 * The caller for trusted code of the operator that works above projects: creating projects, verifying e-mail addresses,
 * setting up or moving whole projects. Never process client input, such as a Bundle to import, as this caller.
 *
 * @param project a project whose resources the caller can also use; default none
 * @throws FhirError `invalid` - the project is not named by an id
 *
 * @example
 * const users = createRepository({ store, caller: serverCaller() });
 * await users.patch('User', id, [{ op: 'add', path: '/emailVerified', value: true }]);
 */
export function serverCaller(project?: string | { readonly reference?: string | undefined }): ServerCaller {
  const id = project === undefined ? SERVER_SCOPE : idOf(project, 'Project');
  if (id === undefined) throw new FhirError('invalid', 'serverCaller needs the id of a project, or nothing');
  return genuine({ kind: 'server', project: id });
}

/** Creates the caller of a fully checked membership. For sign-in only. */
export function memberCaller(facts: Omit<MemberCaller, 'kind'>, clock?: () => Date): MemberCaller {
  return genuine({ kind: 'member' as const, ...facts, rules: withinContexts(facts.rules) }, { facts, clock });
}

/**
 * Ends emergency access, also in the middle of a request: narrower answers would look as if resources were missing.
 *
 * @throws FhirError `forbidden` - its time is over
 */
export function assertNotEnded(caller: MemberCaller): void {
  if (caller.emergency === undefined) return;
  const now = CALLERS.get(caller)?.clock?.().getTime() ?? Date.now();
  if (now < Date.parse(caller.emergency.until)) return;
  throw new FhirError('forbidden', 'The emergency access has ended; sign in to continue without it');
}

/** A caller derived from another. @param change must not grant more */
export function derivedCaller(
  caller: MemberCaller,
  change: (facts: Omit<MemberCaller, 'kind'>) => Omit<MemberCaller, 'kind'>,
): MemberCaller {
  const origin = CALLERS.get(caller);
  return memberCaller(change(origin?.facts ?? caller), origin?.clock);
}

/**
 * Rejects everything that is not a caller.
 *
 * @throws FhirError `unauthenticated`
 */
export function assertCaller(caller: unknown): asserts caller is Caller {
  if (isCaller(caller)) return;
  throw new FhirError(
    'unauthenticated',
    `${caller === undefined ? 'No caller given' : 'Not a caller'}; pass the result of signIn; trusted code passes systemCaller(project) or serverCaller()`,
  );
}

/** True for callers created by this library. */
export function isCaller(value: unknown): value is Caller {
  return CALLERS.has(value as object);
}

function genuine<Made extends Caller>(caller: Made, origin: Origin = {}): Made {
  CALLERS.set(Object.freeze(caller), origin);
  return caller;
}

/**
 * The project in which resources of a type live for a caller: Users and Projects above projects, all others in the
 * caller's project.
 */
export function homeOf(type: string, caller: Caller): string {
  return isAboveProjects(type) ? SERVER_SCOPE : caller.project;
}

/**
 * Restricts rules for Binary: a Binary with a `securityContext` is visible only to callers who may read the referenced
 * resource. See https://hl7.org/fhir/R4/binary.html#security-context.
 *
 * A context that does not exist, or is outside of the project, grants nothing. A Binary is a context only while it
 * has none itself, so chains of contexts end.
 */
export function withinContexts(rules: AccessRules): AccessRules {
  let binary: readonly AccessRule[] | undefined;
  return {
    model: rules.model,
    rulesFor(type) {
      if (type !== 'Binary') return rules.rulesFor(type);
      return (binary ??= bindToContexts(rules.rulesFor(type), rules));
    },
  };
}

function bindToContexts(own: readonly AccessRule[], rules: AccessRules): readonly AccessRule[] {
  if (own.length === 0) return own;
  const readable = or([WITHOUT_CONTEXT, ...contexts(rules)]);
  const condition: RuleCondition = {
    text: 'the securityContext, where there is one, can be read',
    criteria: readable,
    missing: [],
  };
  return own.map((rule) => ({
    ...rule,
    criteria: and([rule.criteria, readable]),
    conditions: rule.conditions && [...rule.conditions, condition],
  }));
}

/** @throws FhirError `too-costly` - the rules of all types together; found before all of them are compiled */
function contexts(rules: AccessRules): Criteria[] {
  const found: Criteria[] = [];
  for (const type of rules.model.resourceTypes) {
    found.push(contextOf(type, rules));
    if (found.length % TYPES_AT_ONCE === 0) assertAffordable({ criteria: or(found) }, MAX_RESTRICTED_COST);
  }
  assertAffordable({ criteria: or(found) }, MAX_RESTRICTED_COST);
  return found;
}

const TYPES_AT_ONCE = 10;

/** The Binaries with a context of this type that the caller can read. */
function contextOf(type: string, rules: AccessRules): Criteria {
  if (isProtected(type) || isAboveProjects(type)) return NONE;
  const granted = or(
    rules.rulesFor(type).flatMap(({ interactions, criteria }) => (interactions.has('read') ? [criteria] : [])),
  );
  const of = type === 'Binary' ? and([granted, WITHOUT_CONTEXT]) : granted;
  return of.kind === 'none' ? NONE : { kind: 'chain', parameter: 'security-context', type, of };
}

/** Tested as a value, not by its absence: a Binary that is not indexed is visible to nobody. */
const WITHOUT_CONTEXT: Criteria = {
  kind: 'match',
  parameter: 'has-security-context',
  test: { kind: 'token', code: 'false' },
};
