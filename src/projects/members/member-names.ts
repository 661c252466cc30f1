import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { perModel } from '../../fhir/model/per-model.js';
import { splitReference } from '../../fhir/reference.js';
import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { decide } from '../../access/decide.js';
import { restrict } from '../../access/read/restrict.js';
import { unrestrictedRule } from '../../access/rule.js';
import type { AnyResource } from '../../fhir/resource.js';
import { and, type Criteria, or } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { parseParameter } from '../../search/parse/parse-parameter.js';
import { createSubject, EMPTY_WORLD } from '../../search/evaluate/search-subject.js';
import { type ProjectSession } from '../session/project-session.js';

/** Types of profiles that have a name. */
const NAMED_TYPES = perModel((model) =>
  ['Patient', 'Practitioner', 'RelatedPerson', 'ClientApplication', 'Bot'].filter(
    (type) => model.searchParameter(type, 'name')?.type === 'string',
  ),
);

/** Memberships read at once. */
const BATCH = 500;

/**
 * Memberships whose profile, or whose User, has a name that fits, as the search parameter `name` of people understands
 * it. Names of profiles count only if the caller can see them.
 *
 * Users live above projects, beyond the reach of a membership search. So the Users of all members that match the rest
 * of the search are read here.
 *
 * @param parameter `name`, or with a modifier such as `name:contains`
 * @param scope the rest of the search
 */
export async function nameCriteria(
  session: ProjectSession,
  parameter: string,
  value: string,
  scope: Criteria,
): Promise<Criteria> {
  const byProfile = asAsked(
    session.store.model,
    session,
    or(
      NAMED_TYPES(session.guard.model).map((type) => ({
        kind: 'chain',
        parameter: 'profile',
        type,
        of: parseParameter(session.guard.model, type, parameter, [value]),
      })),
    ),
  );
  const named = parseParameter(session.guard.model, 'Practitioner', parameter, [value]);
  const ids: string[] = [];
  for (let offset = 0, more = true; more; offset += BATCH) {
    const query = { type: 'ProjectMembership', criteria: and([scope]), offset, limit: BATCH };
    const page = await session.guard.search(query, session.options);
    const members = page.matches.map(({ resource }) => resource as ProjectMembership);
    const users = await usersOf(session, members);
    ids.push(...members.filter((_, index) => fits(session.store.model, users[index], named)).map(({ id }) => id!));
    more = members.length === BATCH;
  }
  return ids.length === 0 ? byProfile : or([byProfile, { kind: 'id', ids }]);
}

/** Names of profiles as the caller sees them: elements hidden by policies have no search values. */
function asAsked(model: FhirModel, { caller, view }: ProjectSession, byProfile: Criteria): Criteria {
  if (caller.kind !== 'member' || view === undefined) return byProfile;
  return restrict(model, byProfile, 'ProjectMembership', [unrestrictedRule('administration of members')], (type) =>
    decide(caller, type, 'search'),
  );
}

async function usersOf(session: ProjectSession, members: readonly ProjectMembership[]): Promise<(User | undefined)[]> {
  const keys = members.map(({ user }) => splitReference(user.reference ?? ''));
  const found = await session.guard.read(keys, session.options);
  return found.map((result) =>
    result.status === 'found' && result.resource.resourceType === 'User' ? (result.resource as User) : undefined,
  );
}

function fits(model: FhirModel, user: User | undefined, named: Criteria): boolean {
  if (user === undefined) return false;
  const { firstName, lastName } = user;
  const name = [{ given: [firstName], family: lastName, text: `${firstName} ${lastName}` }];
  const person: AnyResource & { readonly name: object } = { resourceType: 'Practitioner', id: 'any', name };
  return matches(named, createSubject(model, person, 0), EMPTY_WORLD);
}
