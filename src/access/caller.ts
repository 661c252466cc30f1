import { FhirError } from '../fhir/error.js';
import { idOf } from '../fhir/reference.js';
import type { AccessRules } from './policy/rule.js';
import type { SuperAdminPower } from './policy/super-admin-powers.js';

/**
 * On whose behalf something is done: made by this library only, so that no host code can forge one by accident.
 *
 * A caller names the one project it works in and the author its writes are attributed to. It holds what was true at
 * sign-in; sign in anew per request, or as often as changes to policies shall be felt.
 */
export type Caller = SystemCaller | MemberCaller;

/** Trusted in-process code, bound by nothing but its project. */
export interface SystemCaller {
  readonly kind: 'system';
  /** The id of the project whose resources this caller reaches. */
  readonly project: string;
}

/** A person or program that signed in through a membership. */
export interface MemberCaller {
  readonly kind: 'member';
  readonly project: string;
  /** The id of the ProjectMembership. */
  readonly membership: string;
  /** `User/1`, or `ClientApplication/1` and `Bot/1` for programs. */
  readonly user: string;
  /** `Practitioner/1`: who writes are attributed to. */
  readonly profile: string;
  /** May invite, change and remove members of the project. */
  readonly admin: boolean;
  /** Belongs to a super-admin project: may create projects and administer all. */
  readonly superAdmin: boolean;
  /** What access policies leave of a super administrator's powers; undefined: there are none, and nothing is taken. */
  readonly powers: ReadonlySet<SuperAdminPower> | undefined;
  readonly rules: AccessRules;
}

/** Everything made by this module; nothing else is a caller. */
const GENUINE = new WeakSet<object>();

/**
 * The caller for trusted in-process code: migrations, imports, tests. It may do anything inside the project given.
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

/** The caller of a membership whose checks have all passed. For sign-in only. */
export function memberCaller(facts: Omit<MemberCaller, 'kind'>): MemberCaller {
  return genuine({ kind: 'member', ...facts });
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
    `${caller === undefined ? 'No caller given' : 'Not a caller'}; pass the result of signIn, or systemCaller(project) for trusted code`,
  );
}

/** True for what this library made as a caller. */
export function isCaller(value: unknown): value is Caller {
  return typeof value === 'object' && value !== null && GENUINE.has(value);
}

function genuine<Made extends Caller>(caller: Made): Made {
  GENUINE.add(Object.freeze(caller));
  return caller;
}
