import type { ProjectMembership, User } from '@medplum/fhirtypes';
import { decide } from '../../access/decide.js';
import { restrict, type SearchRules } from '../../access/read/restrict.js';
import { unrestrictedRule } from '../../access/rule.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import type { AnyResource } from '../../fhir/resource.js';
import { type Criteria, or } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { createSubject, EMPTY_WORLD, type SearchSubject } from '../../search/evaluate/search-subject.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import { parseParameter } from '../../search/parse/parse-parameter.js';
import type { SearchPair } from '../../search/parse/search-pairs.js';
import { CallPace } from '../../store/guards.js';
import type { ProjectSession } from '../session/project-session.js';

/** Types of profiles that have a name. */
const NAMED_TYPES = perModel((model) =>
  ['Patient', 'Practitioner', 'RelatedPerson', 'ClientApplication', 'Bot'].filter(
    (type) => model.searchParameter(type, 'name')?.type === 'string',
  ),
);

/** Memberships read at once. */
const BATCH = 500;

/**
 * For each name, the memberships whose profile, or whose User, has a name that fits, as the search parameter `name` of
 * people understands it. Names of profiles count only if the caller can see them.
 *
 * Users live above projects, beyond the reach of a membership search. So the Users of all members that match the rest
 * of the search are read here, once for all names.
 *
 * @param names the parameter, `name` or with a modifier such as `name:contains`, with its value
 * @param scope the rest of the search
 */
export async function nameCriteria(
  session: ProjectSession,
  names: readonly SearchPair[],
  scope: Criteria,
): Promise<readonly Criteria[]> {
  if (names.length === 0) return [];
  const { model } = session.guard;
  const byProfile = names.map(([parameter, value]) =>
    asAsked(
      model,
      session,
      or(
        NAMED_TYPES(model).map((type) => ({
          kind: 'chain',
          parameter: 'profile',
          type,
          of: parseParameter(model, type, parameter, [value]),
        })),
      ),
    ),
  );
  const named = names.map(([parameter, value]) => parseParameter(model, 'Practitioner', parameter, [value]));
  const byUser = await membersByUser(session, named, scope);
  return byProfile.map((criteria, index) => {
    const ids = byUser[index]!;
    return ids.length === 0 ? criteria : or([criteria, { kind: 'id', ids }]);
  });
}

/** For each name, the ids of the memberships in the scope whose User has it. */
async function membersByUser(
  session: ProjectSession,
  named: readonly Criteria[],
  criteria: Criteria,
): Promise<readonly (readonly string[])[]> {
  const ids = named.map((): string[] => []);
  const pace = new CallPace(session.options);
  // PERF: a page that begins after an id costs its members; one that begins at an offset also costs all before it.
  for (let after: SearchPosition | undefined; ;) {
    const query = { type: 'ProjectMembership', criteria, limit: BATCH, after, elements: USER };
    const { matches: found } = await session.guard.search(query, session.options);
    const members = found.map(({ resource }) => resource as ProjectMembership);
    for (const [index, user] of (await usersOf(session, members)).entries()) {
      if (pace.isSpent) await pace.next();
      const person = user && personOf(session.guard.model, user);
      if (person === undefined) continue;
      for (const [place, name] of named.entries()) {
        if (matches(name, person, EMPTY_WORLD)) ids[place]!.push(members[index]!.id!);
      }
    }
    if (members.length < BATCH) return ids;
    after = { values: [], id: members.at(-1)!.id! };
  }
}

const USER = ['user'];
const USER_NAMES = ['firstName', 'lastName'];

/** Names of profiles as the caller sees them: elements hidden by policies have no search values. */
function asAsked(model: FhirModel, { caller, view }: ProjectSession, byProfile: Criteria): Criteria {
  if (caller.kind !== 'member' || view === undefined) return byProfile;
  const rules = [unrestrictedRule('administration of members')];
  const rulesOf: SearchRules = (type) => decide(caller, type, 'search');
  return restrict(model, byProfile, 'ProjectMembership', rules, rulesOf, undefined, caller.rules);
}

async function usersOf(session: ProjectSession, members: readonly ProjectMembership[]): Promise<(User | undefined)[]> {
  const keys = members.map(({ user }) => ({ ...splitReference(user.reference ?? ''), elements: USER_NAMES }));
  const found = await session.guard.read(keys, session.options);
  return found.map((result) =>
    result.status === 'found' && result.resource.resourceType === 'User' ? (result.resource as User) : undefined,
  );
}

/** A User in the form that the search parameter `name` of people indexes. */
function personOf(model: FhirModel, { firstName, lastName }: User): SearchSubject {
  const name = [{ given: [firstName], family: lastName, text: `${firstName} ${lastName}` }];
  const person: AnyResource & { readonly name: object } = { resourceType: 'Practitioner', id: 'any', name };
  return createSubject(model, person, 0);
}
