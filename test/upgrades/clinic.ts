import {
  createClient,
  createProject,
  createRepository,
  eraseResource,
  importNdjson,
  initialize,
  invite,
  type InviteBody,
  removeMember,
  type ResourceStore,
  systemCaller,
  updateMember,
} from 'fhirgraph';
import { ELSEWHERE, RECORDS } from './records.js';

/** Values that were generated when a fixture was written: ids, and the secret of its client application. */
export interface Facts {
  readonly operations: { readonly project: string; readonly client: string };
  readonly project: string;
  readonly elsewhere: string;
  readonly client: string;
  readonly secret: string;
  /** Memberships by the first name of the member. */
  readonly members: { readonly [name: string]: string };
  /** The erased Patient, in versions that could erase. */
  readonly erased?: string;
}

/** The policy of Ben, who sees the patients of one organization without their contacts. */
const STAFF = {
  resourceType: 'AccessPolicy',
  name: 'Staff of an organization',
  resource: [
    { resourceType: 'Patient', criteria: 'Patient?organization=%organization', hiddenFields: ['contact'] },
    {
      resourceType: 'Observation',
      criteria: 'Observation?subject:Patient.organization=%organization',
      readonly: true,
    },
  ],
} as const;

/** Fills an empty store with two projects, their records with histories, and members of each kind. */
export async function writeClinic(store: ResourceStore): Promise<Facts> {
  const operations = await initialize(store, { name: 'Operations' });
  const above = { store, caller: operations.caller };
  const [project, elsewhere] = [await newProject('Riverside', above), await newProject('Hillside', above)];
  await importNdjson(lines(RECORDS), { store, caller: systemCaller(project) });
  await importNdjson(lines(ELSEWHERE), { store, caller: systemCaller(elsewhere) });
  await writeHistories(store, project);
  const { staff, ...programs } = await writePolicyAndClient(store, project);
  const members: { [name: string]: string } = {};
  const join = async (firstName: string, more: Partial<InviteBody>, where = project): Promise<void> => {
    const email = more.externalId === undefined ? { email: `${firstName.toLowerCase()}@example.org` } : {};
    const body = { resourceType: 'Practitioner', firstName, lastName: 'Member', ...email, ...more } as const;
    const { membership } = await invite(where, body, above);
    members[where === project ? firstName : `${firstName} elsewhere`] = membership.id!;
  };
  await join('Ada', { admin: true });
  await join('Ada', {}, elsewhere);
  await join('Ben', { membership: { access: [staff] } });
  await join('Ann', { resourceType: 'Patient', membership: { profile: 'Patient/ann' } });
  await join('Rex', { resourceType: 'RelatedPerson', patient: 'Patient/bob' });
  await join('Eli', { externalId: 'idp|42' });
  await join('Ina', {});
  await updateMember(members['Ina']!, { active: false }, above);
  await join('Rob', {});
  await removeMember(members['Rob']!, above);
  const { id: erased } = await createRepository({ store, caller: systemCaller(project) }).create({
    ...{ resourceType: 'Patient', name: [{ family: 'Forgotten' }], birthDate: '1901-02-03' },
  });
  await eraseResource('Patient', erased, { store, caller: systemCaller(project), reason: 'patient-request' });
  return {
    operations: { project: operations.project.id, client: operations.client.id },
    project,
    elsewhere,
    ...programs,
    members,
    erased,
  };
}

async function newProject(name: string, above: Parameters<typeof createProject>[1]): Promise<string> {
  return (await createProject({ resourceType: 'Project', name, strictMode: false }, above)).id;
}

/** Versions, a deletion, and a deleted resource that was created again. */
async function writeHistories(store: ResourceStore, project: string): Promise<void> {
  const repository = createRepository({ store, caller: systemCaller(project) });
  await repository.patch('Patient', 'bob', [{ op: 'add', path: '/active', value: false }]);
  await repository.patch('Patient', 'bob', [{ op: 'add', path: '/maritalStatus', value: { text: 'Married' } }]);
  await repository.delete('Patient', 'gone');
  await repository.delete('Patient', 'back');
  await repository.update({ resourceType: 'Patient', id: 'back', name: [{ family: 'Returned' }] });
}

async function writePolicyAndClient(
  store: ResourceStore,
  project: string,
): Promise<{ staff: NonNullable<InviteBody['access']>[number]; client: string; secret: string }> {
  const context = { store, caller: systemCaller(project) };
  const policy = await createRepository(context).create(structuredClone(STAFF) as never);
  const { client, secret } = await createClient(project, { name: 'Laboratory feed' }, context);
  const organization = { name: 'organization', valueReference: { reference: 'Organization/south' } };
  const reference = `AccessPolicy/${(policy as { id: string }).id}`;
  return { staff: { policy: { reference }, parameter: [organization] }, client: client.id, secret };
}

function lines(resources: readonly object[]): string[] {
  return [resources.map((resource) => `${JSON.stringify(resource)}\n`).join('')];
}
