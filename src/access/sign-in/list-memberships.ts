import type { AuditFacts, AuditOptions } from '../../audit/audit.js';
import { referenceText, referenceTo } from '../../fhir/reference.js';
import { elementsOf, isJsonObject } from '../../fhir/resource.js';
import type { LimitedStoreContext } from '../limits/call-limits.js';
import { type InCall, operation } from '../operation.js';
import { namedBy, membershipsOf, type PersonIdentity, usableMemberships } from './find-membership.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';

/** A membership that a person can sign in with. */
export interface MembershipSummary {
  /** `ProjectMembership/1`, for `signIn(store, { membership })`. */
  readonly membership: string;
  /** `Project/1`. */
  readonly project: string;
  /** The name of the project; undefined if it has none. */
  readonly projectName: string | undefined;
  /** `Practitioner/1`. */
  readonly profile: string | undefined;
  /** The name of the profile as the membership states it. */
  readonly profileName: string | undefined;
  readonly admin: boolean;
}

/**
 * The memberships of a person in all projects, for hosts that let people choose one after they verified the token. Only
 * active memberships in active projects are listed, in the order of their projects' names.
 *
 * It needs no caller: a person with a proven identity may see their own memberships. Never pass an identity that a
 * client claims without proof.
 *
 * @throws FhirError `unauthenticated` - the identity is missing, such as a claim that the token does not have
 * @throws FhirError `invalid` - it is malformed
 *
 * @example
 * const choices = await listMemberships({ externalId: token.sub }, { store });
 */
export function listMemberships(
  identity: PersonIdentity,
  context: LimitedStoreContext & AuditOptions,
): Promise<readonly MembershipSummary[]> {
  const work = async (
    { store, call }: InCall<LimitedStoreContext>,
    facts: AuditFacts,
  ): Promise<readonly MembershipSummary[]> => {
    const named = isJsonObject(identity) ? identity : ({} as PersonIdentity);
    const found = await usableMemberships(store, await membershipsOf(store, named, call), call);
    const keys = found.map(({ project: id }) => ({ project: SERVER_SCOPE, type: 'Project', id }));
    const projects = await store.read(keys, call);
    const summaries = found.map(({ project, membership }, index): MembershipSummary => {
      const stored = projects[index]!;
      const { profile, admin } = elementsOf(membership);
      return {
        membership: referenceTo('ProjectMembership', membership.id!),
        project: referenceTo('Project', project),
        projectName: stored.status === 'found' ? textIn(stored.resource, 'name') : undefined,
        profile: referenceText(profile),
        profileName: textIn(profile, 'display'),
        admin: admin === true,
      };
    });
    facts.targets = found.map(({ membership }) => ({ type: 'ProjectMembership', id: membership.id }));
    facts.results = summaries.length;
    return summaries.sort(
      (one, other) => compare(one.projectName, other.projectName) || compare(one.membership, other.membership),
    );
  };
  return operation(context, 'list-memberships', work, { facts: { targets: namedBy(identity) } });
}

function textIn(value: unknown, name: string): string | undefined {
  const text = isJsonObject(value) ? value[name] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function compare(one = '', other = ''): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
