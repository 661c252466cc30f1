import {
  createBot,
  createClient,
  createProject,
  createRepository,
  type Caller,
  importNdjson,
  initialize,
  invite,
  type InviteBody,
  type ResourceStore,
  serverCaller,
  signIn,
  systemCaller,
} from 'fhirgraph';
import type { AccessPolicy } from '@medplum/fhirtypes';
import type { Member, Who } from './operation.js';
import { RECORDS } from './records.js';

/** A clinic with its records, and the results of a role's operations. */
export interface World {
  readonly store: ResourceStore;
  /** The projects by name: `operations`, `clinic`, and what is created later. */
  readonly projects: Map<string, string>;
  /** The values of `@{name.part}`. */
  readonly names: Map<string, string>;
  /** The addresses that e-mails went to. */
  readonly mails: string[];
  /** Signs in the caller again for every operation, as a service does for every request. */
  caller(): Promise<Caller>;
}

export async function openWorld(store: ResourceStore, who: Who): Promise<World> {
  const operations = await initialize(store, { name: 'Operations' });
  const above = { store, caller: operations.caller };
  const clinic = (await createProject({ resourceType: 'Project', name: 'Clinic', strictMode: true }, above)).id;
  const trusted = { store, caller: systemCaller(clinic) };
  await importNdjson([RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('')], trusted);
  // An administrator must remain, whatever the role does.
  const boss = { resourceType: 'Practitioner', firstName: 'Bo', lastName: 'Boss', email: 'boss@example.org' } as const;
  await invite(clinic, { ...boss, admin: true }, above);
  const names = new Map([
    ['operations.id', operations.project.id],
    ['clinic.id', clinic],
    ['operations.client', operations.client.id],
  ]);
  const world = {
    store,
    projects: new Map([
      ['operations', operations.project.id],
      ['clinic', clinic],
    ]),
    names,
    mails: [],
  };
  const credentials = { membership: operations.membership.id };
  if (who === 'operations') return { ...world, caller: () => signIn(store, credentials) };
  if (who === 'server') return { ...world, caller: () => Promise.resolve(serverCaller()) };
  if (who === 'server of the clinic') return { ...world, caller: () => Promise.resolve(serverCaller(clinic)) };
  if (who === 'system') return { ...world, caller: () => Promise.resolve(systemCaller(clinic)) };
  const project = who.superAdmin === true ? operations.project.id : clinic;
  const joined = await join(store, project, operations.caller, who);
  const membership = who.memberships === undefined ? joined : await joinSecond(world, above, joined, who);
  names.set('me.membership', membership);
  const { profile, user } = await signIn(store, { membership });
  names.set('me.profile', profile).set('me.user', user);
  return { ...world, caller: () => signIn(store, { membership }) };
}

/** Makes the same person an administrator of a second project. @returns the membership to work with */
async function joinSecond(
  { projects, names }: Pick<World, 'projects' | 'names'>,
  above: { readonly store: ResourceStore; readonly caller: Caller },
  first: string,
  who: Member,
): Promise<string> {
  const second = (await createProject({ resourceType: 'Project', name: 'Second' }, above)).id;
  projects.set('second', second);
  names.set('second.id', second);
  const namesake = { resourceType: 'Patient', id: 'ann', name: [{ family: 'Namesake' }] } as const;
  await createRepository({ store: above.store, caller: systemCaller(second) }).update(
    structuredClone(namesake) as never,
  );
  const membership = await join(above.store, second, above.caller, { ...who, admin: true });
  return who.memberships === 'second' ? membership : first;
}

/** Makes a person a member. @returns the id of the membership */
async function join(store: ResourceStore, project: string, caller: Caller, member: Member): Promise<string> {
  const context = { store, caller };
  const access = await accessOf(store, project, member);
  const rights = { ...(member.admin === undefined ? {} : { admin: member.admin }), ...(access && { access }) };
  if (member.as === 'ClientApplication' || member.as === 'Bot') {
    const create = member.as === 'Bot' ? createBot : createClient;
    return (await create(project, { name: `The ${member.as}`, ...rights }, context)).membership.id;
  }
  const body: InviteBody = {
    resourceType: member.as,
    firstName: 'Mia',
    lastName: 'Member',
    email: 'mia@example.org',
    membership: { ...rights, ...(member.profile === undefined ? {} : { profile: member.profile }) },
    ...(member.patient === undefined ? {} : { patient: member.patient }),
  };
  return (await invite(project, body, context)).membership.id;
}

async function accessOf(
  store: ResourceStore,
  project: string,
  { rules, parameters = [{}] }: Member,
): Promise<InviteBody['access']> {
  if (rules === undefined) return undefined;
  const policy = { resourceType: 'AccessPolicy', name: 'Of the role', resource: [...rules] } as AccessPolicy;
  const { id } = await createRepository({ store, caller: systemCaller(project) }).create(policy);
  return parameters.map((values) => ({
    policy: { reference: `AccessPolicy/${id}` },
    parameter: Object.entries(values).map(([name, value]) =>
      /^[A-Z]\w+\//.test(value) ? { name, valueReference: { reference: value } } : { name, valueString: value },
    ),
  }));
}
