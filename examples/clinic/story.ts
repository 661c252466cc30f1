import type { Bundle, ProjectMembership } from 'fhirgraph/types';
import {
  type Caller,
  createClient,
  createProject,
  createRepository,
  executeFhirGraphql,
  initialize,
  invite,
  type Invitation,
  type InviteBody,
  type InviteResult,
  removeMember,
  type ResourceStore,
  searchMembers,
  signIn,
} from 'fhirgraph';
import { fillRecord, type Records } from './records.js';

/** What the story led to, for whoever wants to look closer. */
export interface StoryResult {
  readonly project: string;
  readonly records: Records;
  readonly administrator: InviteResult;
  readonly practitioner: InviteResult;
  readonly patient: InviteResult;
  readonly relatedPerson: InviteResult;
  /** What each member saw. */
  readonly views: { readonly [member: string]: View };
  /** The members found, by search. */
  readonly members: { readonly [search: string]: readonly string[] };
  /** The practitioner after having been removed and invited again. */
  readonly invitedAgain: InviteResult;
  readonly invitations: readonly Invitation[];
}

/** Patients with their observations, and organizations, as one member sees them. */
export interface View {
  readonly PatientList: readonly {
    readonly name: readonly { readonly text: string }[];
    readonly ObservationList: readonly { readonly code: { readonly text: string } }[];
  }[];
  readonly OrganizationList: readonly { readonly name: string }[];
}

const QUERY = `{
  PatientList(_sort: "name") {
    name { text }
    ObservationList(_reference: subject, _sort: "code") { code { text } }
  }
  OrganizationList(_sort: "name") { name }
}`;

/** The four searches that every list of members needs. */
const SEARCHES = [
  '',
  'profile-type:not=ClientApplication,Bot',
  'profile-type=Patient',
  'profile-type=Practitioner',
] as const;

/**
 * A clinic from an empty store: who sets it up, who is invited, what each of them sees, and how a member leaves and comes back.
 *
 * @param tell receives what happens, line by line
 */
export async function tellStory(store: ResourceStore, tell: (line: string) => void): Promise<StoryResult> {
  const invitations: Invitation[] = [];
  const mailer = { send: (invitation: Invitation) => void invitations.push(invitation) };

  // Whoever sets the store up gets a program that may create projects. Its secret is shown this once.
  const operations = await initialize(store, { name: 'Operations' });
  const created = await createProject(
    { resourceType: 'Project', name: 'Riverside Clinic', strictMode: true },
    { store, caller: operations.caller },
  );
  const project = created.id;
  tell(`Project "${created.name}" was made.`);

  // The first administrator is invited from above; from then on the clinic looks after itself.
  const administrator = await invite(
    project,
    { ...person('Practitioner', 'Ada', 'Stone'), admin: true },
    { store, caller: operations.caller, mailer },
  );
  const ada = await signIn(store, { membership: administrator.membership.id });
  const records = await fillRecord(createRepository({ store, caller: ada }));
  const context = { store, caller: ada, mailer };

  // One policy, twice, with another organization each time.
  const doctor: InviteBody = {
    ...person('Practitioner', 'Ben', 'Hill'),
    membership: {
      access: [records.north, records.south].map((organization) => ({
        policy: { reference: records.staffPolicy },
        parameter: [{ name: 'organization', valueReference: { reference: organization } }],
      })),
    },
  };
  const practitioner = await invite(project, doctor, context);
  const patient = await invite(
    project,
    { ...person('Patient', 'Cleo', 'Brook'), membership: { profile: records.cleo } },
    context,
  );
  const relatedPerson = await invite(
    project,
    { ...person('RelatedPerson', 'Dan', 'Brook'), patient: records.cleo },
    context,
  );
  await createClient(project, { name: 'Laboratory feed' }, context);
  tell(`${invitations.length} invitations went out, the last one to ${invitations.at(-1)!.to}.`);

  const views: { [member: string]: View } = {};
  for (const [member, { membership }] of Object.entries({ administrator, practitioner, patient, relatedPerson })) {
    views[member] = await look(store, await signIn(store, { membership: membership.id }));
    tell(`The ${member} sees ${describe(views[member])}.`);
  }

  const members: { [search: string]: readonly string[] } = {};
  for (const search of SEARCHES) {
    members[search] = namesIn(await searchMembers(project, search, { store, caller: ada }));
    tell(`Members with "${search}": ${members[search].join(', ')}.`);
  }

  // Removing a member leaves User and profile in place, so that inviting again brings the same person back.
  await removeMember(practitioner.membership.id, context);
  const kept = await createRepository(context).read('Practitioner', practitioner.profile.id);
  tell(`${kept.name![0]!.given!.join(' ')} is not a member any more; the Practitioner of that name is still there.`);
  const invitedAgain = await invite(project, doctor, context);
  const { user, profile, membership } = invitedAgain.created;
  tell(`Invited again; made anew: User ${user}, profile ${profile}, membership ${membership}.`);
  return {
    project,
    records,
    administrator,
    practitioner,
    patient,
    relatedPerson,
    views,
    members,
    invitedAgain,
    invitations,
  };
}

function person(resourceType: InviteBody['resourceType'], firstName: string, lastName: string): InviteBody {
  return { resourceType, firstName, lastName, email: `${firstName.toLowerCase()}@example.org` };
}

async function look(store: ResourceStore, caller: Caller): Promise<View> {
  const { data, errors } = await executeFhirGraphql(QUERY, { store, caller });
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join('; '));
  return data as unknown as View;
}

function describe({ PatientList, OrganizationList }: View): string {
  const patients = PatientList.map(({ name, ObservationList }) => `${name[0]!.text} (${ObservationList.length})`);
  const organizations = OrganizationList.map(({ name }) => name);
  return `${patients.join(', ')}; organizations: ${organizations.join(', ') || 'none'}`;
}

function namesIn({ entry = [] }: Bundle<ProjectMembership>): string[] {
  return entry.map(({ resource }) => resource!.profile.display!).sort();
}
