import { FhirError } from '../fhir/error.js';
import { idOf } from '../fhir/reference.js';
import { SERVER_SCOPE } from '../store/store.js';
import { withinContexts } from './policy/binary-context.js';
import type { AccessRules } from './rule.js';
import type { SuperAdminPower } from './policy/super-admin-powers.js';

/**
 * On whose behalf something is done: made by this library only, so that no host code can forge one by accident.
 *
 * A caller names the one project it works in and the author its writes are attributed to. It holds what was true at
 * sign-in; sign in again per request, or as often as you need policy changes to take effect.
 */
export type Caller = SystemCaller | ServerCaller | MemberCaller;

/**
 * Trusted in-process code of one project: it may do anything with the resources of that project, and nothing elsewhere.
 *
 * Of what lives above projects it reaches what an administrator of the project needs: it reads the Users of the project's
 * members, and reads and changes the Project itself but for the settings that belong to the operator, such as `superAdmin` and `systemSecret`. Bots with
 * `system: true` belong to the operator, too.
 */
export interface SystemCaller {
  readonly kind: 'system';
  /** The id of the project whose resources this caller reaches. */
  readonly project: string;
}

/** Trusted in-process code of the operator, above projects: it may do anything with Users and Projects. */
export interface ServerCaller {
  readonly kind: 'server';
  /** The id of the project that it also works in; `''` where it stays above projects. */
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
  /** `Practitioner/1`: who writes are attributed to. */
  readonly profile: string;
  /** May invite, change and remove members of the project. */
  readonly admin: boolean;
  /** Belongs to a super-admin project: may create projects and administer all. */
  readonly superAdmin: boolean;
  /** What access policies leave of a super administrator's powers; undefined: there are none, and nothing is taken. */
  readonly powers: ReadonlySet<SuperAdminPower> | undefined;
  /** Access policies bind the membership; false where the type of its profile decides. */
  readonly bound: boolean;
  /** @internal What the policies grant; `explainAccess` shows it. */
  readonly rules: AccessRules;
}

/** Everything made by this module; nothing else is a caller. */
const GENUINE = new WeakSet<object>();

/**
 * The caller for trusted code that works inside one project: imports, jobs, tests. It reaches nothing of other projects,
 * and above them no more than {@link SystemCaller} says; {@link serverCaller} does.
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
 * The caller for trusted code of the operator, whose work lies above projects: making projects, verifying an e-mail
 * address, setting up or moving whole projects. Never let what clients send, such as a Bundle to import, run as this caller.
 *
 * @param project a project whose resources it also reaches; default none
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

/** The caller of a membership whose checks have all passed. For sign-in only. */
export function memberCaller(facts: Omit<MemberCaller, 'kind'>): MemberCaller {
  return genuine({ kind: 'member', ...facts, rules: withinContexts(facts.rules) });
}

/**
 * Refuses everything that is not a caller: no caller, no access.
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

/** True for what this library made as a caller. */
export function isCaller(value: unknown): value is Caller {
  return GENUINE.has(value as object);
}

function genuine<Made extends Caller>(caller: Made): Made {
  GENUINE.add(Object.freeze(caller));
  return caller;
}
