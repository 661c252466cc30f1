import { FhirError, type ErrorCode } from '../../fhir/error.js';
import { idOf, referenceText, referenceTo } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { ALL } from '../../search/criteria/criteria.js';
import type { StoreContext } from '../../store/store.js';
import { everyMatch } from '../../store/every-page.js';
import type { MemberCaller } from '../caller.js';
import { decide } from '../decide.js';
import { hiddenByAll } from '../fields/mask-resource.js';
import { ALL_INTERACTIONS, type Interaction } from '../rule.js';
import type { ResourceRef } from '../sign-in/find-membership.js';
import { callerOfMember, signInAgain } from '../sign-in/sign-in.js';

/** The access of one member. */
export interface MemberAccess {
  /** `ProjectMembership/1`. */
  readonly membership: string;
  /** `Practitioner/1`. */
  readonly profile: string | undefined;
  readonly admin: boolean;
  /** True if access policies apply; false if the type of the profile decides. */
  readonly bound: boolean;
  /** By resource type; types without access are left out. */
  readonly access: AccessByType;
  /** What emergency access adds to that, by resource type; absent without a policy for emergencies. */
  readonly emergency?: AccessByType | undefined;
  /** Why the member cannot sign in; then it has no access. */
  readonly problem?: ErrorCode | undefined;
}

/** What a member can do, type by type. */
export interface AccessByType {
  readonly [type: string]: TypeAccess;
}

/** The access to the resources of one type. */
export interface TypeAccess {
  /**
   * `all`: a rule without conditions grants the interaction; `some`: rules with conditions grant it for the resources
   * that match them.
   */
  readonly interactions: { readonly [Name in Interaction]?: 'all' | 'some' };
  /** Fields that every reading rule hides. */
  readonly hidden: readonly string[];
}

/** The project's store, and the resource types to report. */
export interface AccessMatrixContext extends StoreContext {
  /** The resource types to look at. Default: all. */
  readonly types?: readonly string[] | undefined;
}

/**
 * Lists what each member of a project can do, in the order of membership ids: for access reviews, and for tests that
 * notice when a policy change grants too much. It signs nobody in and writes no audit records.
 *
 * For trusted host code: it needs no caller. The result contains what the policies grant, and no content of resources.
 *
 * @throws FhirError `invalid` - the project is not named by an id, or there is no such type
 *
 * @example
 * for await (const { profile, access } of accessMatrix('clinic', { store, types: ['Patient'] })) {
 *   console.log(profile, access['Patient']?.interactions);
 * }
 */
export async function* accessMatrix(
  project: ResourceRef,
  context: AccessMatrixContext,
): AsyncGenerator<MemberAccess, void, undefined> {
  const { store, signal, types = store.model.resourceTypes } = context;
  const id = idOf(project, 'Project');
  if (id === undefined) throw new FhirError('invalid', 'accessMatrix needs the id of a project');
  const unknown = types.find((type) => !store.model.isResourceType(type));
  if (unknown !== undefined) throw new FhirError('invalid', 'accessMatrix needs names of resource types');
  const query = { project: id, type: 'ProjectMembership', criteria: ALL };
  for await (const { resource } of everyMatch(PAGE, (page, budget) =>
    store.search({ ...query, ...page }, { signal, budget }),
  )) {
    yield await accessOf(context, resource, types);
  }
}

const PAGE = 200;

async function accessOf(
  { store, signal }: StoreContext,
  membership: AnyResource,
  types: readonly string[],
): Promise<MemberAccess> {
  const { profile, admin } = elementsOf(membership);
  const member = {
    membership: referenceTo('ProjectMembership', membership.id!),
    profile: referenceText(profile),
    admin: admin === true,
  };
  try {
    const caller = await callerOfMember(store, membership.id!, { signal });
    const access = accessByType(caller, types);
    const emergency = await inEmergency({ store, signal }, caller, types, access);
    return { ...member, bound: caller.bound, access, emergency };
  } catch (error) {
    if (!(error instanceof FhirError) || error.status >= 500) throw error;
    return { ...member, bound: true, access: {}, problem: error.code };
  }
}

/** The access that `breakGlass` would grant. It writes no record, because the caller does not leave this function. */
async function inEmergency(
  { store, signal }: StoreContext,
  caller: MemberCaller,
  types: readonly string[],
  otherwise: AccessByType,
): Promise<AccessByType | undefined> {
  const until = new Date(Date.now() + 3_600_000).toISOString();
  try {
    const { caller: broken } = await signInAgain(store, caller, { signal }, { reason: 'access matrix', until });
    const access = Object.entries(accessByType(broken, types));
    return Object.fromEntries(access.filter(([type, one]) => !isSame(one, otherwise[type])));
  } catch (error) {
    if (error instanceof FhirError && error.code === 'forbidden') return undefined;
    throw error;
  }
}

function isSame(one: TypeAccess, other: TypeAccess | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function accessByType(caller: MemberCaller, types: readonly string[]): AccessByType {
  const entries = types.map((type) => [type, typeAccess(caller, type)] as const);
  return Object.fromEntries(entries.filter(([, { interactions }]) => Object.keys(interactions).length > 0));
}

function typeAccess(caller: MemberCaller, type: string): TypeAccess {
  const interactions: { [Name in Interaction]?: 'all' | 'some' } = {};
  for (const interaction of ALL_INTERACTIONS) {
    const rules = (decide(caller, type, interaction) ?? []).filter(({ criteria }) => criteria.kind !== 'none');
    if (rules.length > 0)
      interactions[interaction] = rules.some(({ criteria }) => criteria.kind === 'all') ? 'all' : 'some';
  }
  const reading = decide(caller, type, 'read') ?? decide(caller, type, 'search') ?? [];
  return { interactions, hidden: hiddenByAll(reading) };
}
