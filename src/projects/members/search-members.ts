import type { Bundle, OperationOutcome, ProjectMembership, User } from '@medplum/fhirtypes';
import { decide } from '../../access/decide.js';
import { isAdministrative } from '../../access/fields/administrative-types.js';
import { restrict, type SearchRules } from '../../access/read/restrict.js';
import { unrestrictedRule } from '../../access/rule.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { FhirError } from '../../fhir/error.js';
import { type FhirModel, perModel } from '../../fhir/model/fhir-model.js';
import { splitReference } from '../../fhir/reference.js';
import type { AnyResource, Stored } from '../../fhir/resource.js';
import { MAX_COUNT, SearchPaging, withoutCursor } from '../../interactions/pages.js';
import { randomId } from '../../platform/crypto.js';
import { and, childrenOf, type Criteria, not, or, refersTo } from '../../search/criteria/criteria.js';
import { matches } from '../../search/evaluate/match.js';
import { createSubject, EMPTY_WORLD, type SearchSubject } from '../../search/evaluate/search-subject.js';
import type { SearchPosition } from '../../search/evaluate/sort.js';
import { parseParameter } from '../../search/parse/parse-parameter.js';
import { parseSearch, type SearchInput, withoutEmpty } from '../../search/parse/parse-search.js';
import { parameterNames, type SearchPair, searchPairs } from '../../search/parse/search-pairs.js';
import { CallPace } from '../../store/guards.js';
import { ShortPage } from '../../store/text-budget.js';
import { plausibleEmail } from '../body/invite-body.js';
import { usersByEmail } from '../people/find-people.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { copyStored, openProject, type ProjectSession, readProject } from '../session/project-session.js';

/**
 * Finds members of a project: a FHIR search on ProjectMembership, with all its parameters and modifiers, and three more:
 *
 * | parameter | finds members |
 * |---|---|
 * | `name`, `name:contains`, `name:exact` | whose profile or User has such a name |
 * | `email` | whose User has this e-mail address, in any spelling of it |
 * | `status` | who are `invited`, `active`, `expired` or `inactive` now, by the clock of the context |
 *
 * `_count` sets the size of a page, up to 1000 members, which is also the default. The `next` link leads to the page
 * after it, and `_offset` to any page. `total` is always present. A member whose profile was deleted is named in an OperationOutcome at the end of the Bundle (`search.mode`
 * is `outcome`).
 *
 * @param query a query string, parameters, or an object; left out: all members
 * @throws FhirError `forbidden` - the caller is neither administrator of the project nor super administrator
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `invalid`, `unsupported`, `too-costly` - the search
 *
 * @example
 * const people = await searchMembers(project, 'profile-type:not=ClientApplication,Bot', { store, caller });
 */
export function searchMembers(
  project: ResourceRef,
  query: SearchInput | undefined,
  context: ProjectContext,
): Promise<Bundle<Stored<ProjectMembership>>> {
  return projectOperation(context, 'search-members', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'search');
    facts.targets = [{ type: 'ProjectMembership' }];
    const given = query === undefined ? [] : searchPairs(query);
    // An empty status is a fault, because no status is empty.
    const isStatus = ([name]: SearchPair): boolean => name.split(':', 1)[0] === 'status';
    const others = given.filter((pair) => !isStatus(pair));
    const pairs = [...withoutEmpty(bounded.store.model, 'ProjectMembership', others, isOwn), ...given.filter(isStatus)];
    const names = pairs.map(([name]) => name);
    facts.parameters = parameterNames(bounded.store.model, 'ProjectMembership', names, isOwn);
    await readProject(session);
    const bundle = await findMembers(session, pairs, bounded.clock?.() ?? new Date());
    facts.results = bundle.entry?.filter(({ search }) => search?.mode === 'match').length ?? 0;
    return bundle;
  });
}

/**
 * Member searches are limited to administrative types: chains into clinical ones would answer clinical questions about
 * every project the caller administers.
 *
 * @throws FhirError `forbidden`
 */
function assertAdministrative(criteria: Criteria): void {
  if ((criteria.kind === 'chain' || criteria.kind === 'has') && !isAdministrative(criteria.type)) {
    throw new FhirError(
      'forbidden',
      `A search for members cannot lead to ${criteria.type}; use "name", "email" or "profile", or search ${criteria.type} itself`,
    );
  }
  childrenOf(criteria).forEach(assertAdministrative);
}

async function findMembers(
  session: ProjectSession,
  pairs: readonly SearchPair[],
  now: Date,
): Promise<Bundle<Stored<ProjectMembership>>> {
  const own = pairs.filter(([name]) => isOwn(name));
  const others = withoutCursor(pairs).filter(([name]) => !isOwn(name));
  const request = parseSearch(
    session.store.model,
    'ProjectMembership',
    new URLSearchParams(others.map(([...pair]) => pair)),
  );
  assertAdministrative(request.criteria);
  const { sort, count = MAX_COUNT, offset, summaryCount = false } = request;
  const paging = new SearchPaging(
    { type: 'ProjectMembership', project: session.project, pairs, count, offset, sort, countOnly: summaryCount },
    session.caller,
  );
  const criteria = await withOwnParameters(session, request.criteria, own, now);
  const shortens = new ShortPage();
  const query = { type: 'ProjectMembership', criteria, sort, ...paging.bounds, total: true, shortens };
  const page = paging.cut(await session.guard.search(query, session.options), shortens);
  const members = page.matches.map(({ resource }) => copyStored<ProjectMembership>(resource, session));
  const lost = await lostProfiles(session, members);
  const entry = [
    ...members.map((resource) => ({ resource, search: { mode: 'match' as const } })),
    // As everywhere in FHIR, entries other than matches have another type, given by `mode`.
    ...(lost === undefined ? [] : [{ resource: lost as never, search: { mode: 'outcome' as const } }]),
  ];
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    total: page.total ?? 0,
    link: paging.links(page, session.store.model),
    ...(entry.length === 0 ? {} : { entry }),
  };
}

function isOwn(name: string): boolean {
  const base = name.split(':', 1)[0];
  return base === 'name' || base === 'email' || base === 'status';
}

async function withOwnParameters(
  session: ProjectSession,
  rest: Criteria,
  own: readonly SearchPair[],
  now: Date,
): Promise<Criteria> {
  const statuses = own.filter(([name]) => name.startsWith('status'));
  const emails = own.filter(([name]) => name.startsWith('email'));
  const names = [
    ...new Map(own.filter(([name]) => name.startsWith('name')).map((pair) => [pair.join('='), pair])).values(),
  ];
  if (names.length > MAX_NAMES) {
    throw new FhirError(
      'too-costly',
      `"name" may be given ${MAX_NAMES} times at most, not ${names.length}: join the names`,
    );
  }
  const byEmail = await Promise.all(emails.map(([name, value]) => emailCriteria(session, name, value)));
  const byStatus = statuses.map(([name, value]) => statusCriteria(session.store.model, name, value, now));
  const scope = and([rest, ...byStatus, ...byEmail]);
  const byName = await nameCriteria(session, names, scope);
  return and([scope, ...byName]);
}

async function emailCriteria(session: ProjectSession, name: string, value: string): Promise<Criteria> {
  if (name !== 'email') throw new FhirError('invalid', 'Search parameter "email" takes no modifier');
  const emails = value.split(',').map((one) => {
    const email = plausibleEmail(one);
    if (email === undefined) throw new FhirError('invalid', 'Search parameter "email" takes whole e-mail addresses');
    return email;
  });
  if (emails.length > MAX_EMAILS) {
    throw new FhirError('too-costly', `"email" takes ${MAX_EMAILS} addresses at most, not ${emails.length}`);
  }
  const users = await Promise.all(emails.map((email) => usersByEmail(session, email)));
  // Users of other projects have addresses too. Adding a nonexistent User makes the search the same for unknown
  // addresses.
  const ids = [...users.flat().map(({ id }) => id), randomId()];
  return or(ids.map((id) => refersTo('user', { type: 'User', id })));
}

const MAX_EMAILS = 100;
/** Each name searches all members that match the rest of the search. */
const MAX_NAMES = 5;

/** @returns an OperationOutcome with an issue per member whose profile does not exist; undefined if all do */
async function lostProfiles(
  session: ProjectSession,
  members: readonly ProjectMembership[],
): Promise<OperationOutcome | undefined> {
  const found = await session.guard.read(
    members.map(({ profile }) => splitReference(profile.reference ?? '')),
    session.options,
  );
  const issue = members.flatMap(({ id, profile }, index): OperationOutcome['issue'] => {
    if (found[index]!.status === 'found') return [];
    const text = `${profile.reference ?? 'A profile'}, the profile of ProjectMembership/${id!}, does not exist; this member cannot sign in`;
    const expression = [`Bundle.entry[${index}].resource.profile`];
    return [{ severity: 'warning', code: 'not-found', details: { text }, expression }];
  });
  return issue.length === 0 ? undefined : { resourceType: 'OperationOutcome', issue };
}

/**
 * The status of a membership at a moment, exactly one of these:
 *
 * | status | membership |
 * |---|---|
 * | `inactive` | switched off |
 * | `expired` | its access has ended, or its invitation was not accepted in time |
 * | `invited` | its invitation is open |
 * | `active` | all others |
 */
const STATUSES: { readonly [status: string]: (facts: Facts) => Criteria } = {
  inactive: ({ inactive }) => inactive,
  expired: ({ inactive, ended, overdue }) => and([not(inactive), or([ended, overdue])]),
  invited: ({ inactive, ended, overdue, asked }) => and([not(inactive), not(ended), not(overdue), asked]),
  active: ({ inactive, ended, asked }) => and([not(inactive), not(ended), not(asked)]),
};

interface Facts {
  readonly inactive: Criteria;
  readonly ended: Criteria;
  /** An invitation that can no longer be accepted. */
  readonly overdue: Criteria;
  /** An invitation that was not accepted, overdue or not. */
  readonly asked: Criteria;
}

/** @throws FhirError `invalid` - a modifier, or an unknown status */
function statusCriteria(model: FhirModel, name: string, value: string, now: Date): Criteria {
  if (name !== 'status') throw new FhirError('invalid', 'Search parameter "status" takes no modifier');
  const search = (parameter: string, text: string): Criteria =>
    parseParameter(model, 'ProjectMembership', parameter, [text]);
  const until = `le${now.toISOString()}`;
  const facts: Facts = {
    inactive: search('active', 'false'),
    ended: search('access-expires', until),
    overdue: search('invitation-expires', until),
    asked: search('invitation-expires:missing', 'false'),
  };
  return or(
    value.split(',').map((status) => {
      if (Object.hasOwn(STATUSES, status)) return STATUSES[status]!(facts);
      throw new FhirError('invalid', `"status" is one of ${Object.keys(STATUSES).join(', ')}`);
    }),
  );
}

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
async function nameCriteria(
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
  // A page that begins after an id costs its members; one that begins at an offset also costs all before it.
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
