import type { ProjectMembership } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { accessEnd } from '../../access/sign-in/member.js';
import { signIn } from '../../access/sign-in/sign-in.js';
import { ENDING_CODES } from '../../access/sign-in/session.js';
import { FhirError } from '../../fhir/error.js';
import { and, type Criteria, not } from '../../search/criteria/criteria.js';
import { assertNotAborted } from '../../store/guards.js';
import { assertNotOwnRights } from '../session/own-membership.js';
import { type ProjectSession, readProject } from '../session/project-session.js';

/**
 * Creates the writes and checks that keep an administrator in the project when a membership is changed or removed.
 *
 * Two administrators who demote each other concurrently would each still find the other. Therefore every loss of an
 * administrator also writes the unchanged Project with a version check: of two concurrent losses one fails and is
 * planned again. Gains need no check.
 *
 * @param after undefined when the membership is removed
 * @throws FhirError `forbidden` - members cannot change their own rights
 * @throws FhirError `conflict` - the project would be left without an administrator who can sign in
 */
export async function keepAnAdministrator(
  session: ProjectSession,
  before: ProjectMembership,
  after: ProjectMembership | undefined,
): Promise<readonly GuardedWrite[]> {
  await assertNotOwnRights(session, before, after);
  if (!isAdministrator(before) || (after !== undefined && isAdministrator(after))) return [];
  const { project, versionId } = await readProject(session);
  if (!(await hasOtherAdministrator(session, before.id!))) {
    throw new FhirError(
      'conflict',
      `ProjectMembership/${before.id!} is the last administrator of Project/${session.project}; make another member administrator first`,
    );
  }
  const key = { type: 'Project', id: session.project };
  return [{ kind: 'put', key, resource: project, keepSecrets: true, expect: { version: versionId } }];
}

/** An administrator with an end date does not count, because the project would lose its last one. */
function isAdministrator(membership: ProjectMembership): boolean {
  const { admin, active } = membership;
  return admin === true && active !== false && accessEnd(membership) === Infinity;
}

/** Only administrators who can sign in count: a lost profile, an inactive User or a broken policy prevents sign-in. */
async function hasOtherAdministrator(session: ProjectSession, except: string): Promise<boolean> {
  const criteria = and([
    flagIs('admin', 'true'),
    not(flagIs('active', 'false')),
    { kind: 'missing', parameter: 'access-expires', missing: true },
    not({ kind: 'id', ids: [except] }),
  ]);
  const { matches } = await session.guard.search({ type: 'ProjectMembership', criteria }, session.options);
  for (const { resource } of matches) if (await canSignIn(session, resource.id!)) return true;
  return false;
}

async function canSignIn({ store, options }: ProjectSession, membership: string): Promise<boolean> {
  assertNotAborted(options);
  try {
    await signIn(store, { membership }, { issuedAt: 'now' });
    return true;
  } catch (error) {
    if (error instanceof FhirError && ENDING_CODES.has(error.code)) return false;
    throw error;
  }
}

function flagIs(parameter: string, code: string): Criteria {
  return { kind: 'match', parameter, test: { kind: 'token', code } };
}
