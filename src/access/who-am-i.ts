import type { Bot, ClientApplication, Patient, Practitioner, Project } from '@medplum/fhirtypes';
import type { ProjectMembership, RelatedPerson, User } from '@medplum/fhirtypes';
import type { AuditFacts, AuditOptions } from '../audit/audit.js';
import { FhirError } from '../fhir/error.js';
import { copyForHost } from '../fhir/json/copy-json.js';
import { withChosenMeta } from '../fhir/own-extensions.js';
import { splitReference } from '../fhir/reference.js';
import type { Stored } from '../fhir/resource.js';
import { tracedBy } from './access-trace.js';
import { assertCaller, type Caller } from './caller.js';
import { guardStore } from './guarded-store.js';
import type { LimitedStoreContext } from './limits/call-limits.js';
import { type InCall, operation } from './operation.js';

/** The identity of a member, as private copies without secrets. */
export interface WhoAmI {
  /** Without the policies that it names. */
  readonly membership: Stored<ProjectMembership>;
  /** The name and identifiers of the project; administrators also see its settings. */
  readonly project: Stored<Project>;
  /** Undefined for clients and Bots. */
  readonly user: Stored<User> | undefined;
  /** The profile as the caller's rules show it; undefined if the caller may not read it. */
  readonly profile: Stored<Patient | Practitioner | RelatedPerson | ClientApplication | Bot> | undefined;
}

/** The store, and how much `meta` the answer has. */
export interface WhoAmIContext extends LimitedStoreContext, AuditOptions {
  /** Resources carry Medplum's `meta.project` and `meta.author`. Default false. */
  readonly extendedMeta?: boolean | undefined;
}

/**
 * The caller's own membership, project, User and profile, each as a read by this caller shows it.
 *
 * @throws FhirError `unauthenticated` - no caller
 * @throws FhirError `invalid` - the caller is trusted code, which has no membership
 * @throws FhirError `membership-missing` - it was removed since sign-in
 *
 * @example
 * const { user, project } = await whoAmI(caller, { store });
 */
export function whoAmI(caller: Caller, context: WhoAmIContext): Promise<WhoAmI> {
  const facts: AuditFacts = {};
  const trace = tracedBy(context, facts);
  const work = async ({ store, call, extendedMeta }: InCall<WhoAmIContext>): Promise<WhoAmI> => {
    assertCaller(caller);
    if (caller.kind !== 'member') throw new FhirError('invalid', 'Trusted code has no membership; sign in as a member');
    const { project, membership, user, profile } = caller;
    const names = [
      { type: 'ProjectMembership', id: membership },
      { type: 'Project', id: project },
    ];
    const keys = [...names, splitReference(user), splitReference(profile)];
    const found = await guardStore(store, caller, { trace }).read(keys, call);
    const [member, home, person, own] = found.map((one) =>
      one.status === 'found' ? copyForHost(withChosenMeta(one.resource, { extendedMeta })) : undefined,
    );
    if (member === undefined) {
      throw new FhirError('membership-missing', `ProjectMembership/${membership} was not found`);
    }
    if (home === undefined) throw new FhirError('project-missing', `Project/${project} does not exist`);
    for (const one of found) if (one.status === 'found') trace?.show(one.resource);
    return {
      membership: member as Stored<ProjectMembership>,
      project: home as Stored<Project>,
      user: person?.resourceType === 'User' ? (person as Stored<User>) : undefined,
      profile: own as WhoAmI['profile'],
    };
  };
  return operation({ ...context, caller }, 'who-am-i', work, { facts });
}
