import type { Bundle, Project, ProjectMembership, Resource, ResourceType } from '@medplum/fhirtypes';
import {
  type Caller,
  createBot,
  createClient,
  createProject,
  createRepository,
  executeFhirGraphql,
  FhirError,
  importBundle,
  importNdjson,
  invite,
  type InviteBody,
  type ClientOrBotBody,
  removeMember,
  resendInvitation,
  rotateClientSecret,
  searchMembers,
  signIn,
  updateMember,
  verifyClientSecret,
} from 'fhirgraph';
import { explainAccess } from 'fhirgraph/access';
import { createSearch } from 'fhirgraph/store';
import type { Ask, Entry } from './operation.js';
import type { World } from './world.js';

/** Executes one operation for its caller, and returns the value that is compared with the expectation. */
export async function carryOut(world: World, ask: Ask): Promise<unknown> {
  return carryOutFilled(world, fillNames(world, ask), await world.caller());
}

async function carryOutFilled(world: World, ask: Ask, caller: Caller): Promise<unknown> {
  const { store } = world;
  const context = { store, caller, mailer: { send: ({ to }: { to: string }) => void world.mails.push(to) } };
  const repository = createRepository({ store, caller });
  const projectOf = (name = 'clinic'): string => world.projects.get(name)!;

  if ('graphql' in ask) {
    const { graphql, ...more } = ask;
    const { data, errors } = await executeFhirGraphql(graphql, { ...context, ...more } as never);
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  }
  if ('search' in ask) return idsOf(await repository.search(...parts(ask.search)));
  if ('criteria' in ask) return idsOf(await repository.search(ask.type as ResourceType, createSearch(ask.criteria)));
  if ('count' in ask && !('history' in ask)) {
    const [type, query] = parts(ask.count);
    return (await repository.search(type, `${query}&_summary=count`)).total;
  }
  if ('read' in ask) return repository.read(...named(ask.read));
  if ('vread' in ask) {
    const [type, id, , version] = ask.vread.split('/') as [ResourceType, string, string, string];
    return repository.vread(type, id, version);
  }
  if ('history' in ask) {
    const { entry = [] } = await repository.history(
      ...named(ask.history),
      ask.count === undefined ? {} : { count: ask.count },
    );
    return entry.map(({ request, resource }) => (resource === undefined ? request!.method : resource.meta.versionId));
  }
  if ('create' in ask) {
    const { ifNoneExist } = ask;
    const created = await repository.create(ask.create as unknown as Resource, { ifNoneExist });
    world.names.set(`${ask.as ?? 'last'}.id`, created.id);
    return created;
  }
  if ('update' in ask) return repository.update(ask.update as unknown as Resource, { ifMatch: ask.ifMatch });
  if ('edit' in ask) {
    const read = await repository.read(...named(ask.edit));
    return repository.update({ ...read, ...ask.set }, { ifMatch: read.meta.versionId });
  }
  if ('patch' in ask) return repository.patch(...named(ask.patch), ask.operations, { ifMatch: ask.ifMatch });
  if ('remove' in ask) {
    await repository.delete(...named(ask.remove), { ifMatch: ask.ifMatch });
    return codeOf(repository.read(...named(ask.remove)));
  }
  if ('transaction' in ask) {
    const { entry = [] } = await repository.transaction(bundleOf(ask.transaction, ask.entries));
    return entry.map(({ response }) => response!.status.split(' ')[0]);
  }
  if ('bundle' in ask) {
    const { bundle: _, ...counts } = await importBundle(bundleOf(ask.bundle, ask.entries), context);
    return counts;
  }
  if ('ndjson' in ask) {
    const text = ask.ndjson.map((resource) => `${JSON.stringify(resource)}\n`).join('');
    const { created, updated, unchanged, failed } = await importNdjson([text], context);
    return { created, updated, unchanged, failed };
  }
  if ('invite' in ask) {
    const { membership, user, profile, created, email } = await invite(
      projectOf(ask.project),
      ask.invite as InviteBody,
      context,
    );
    const as = ask.as ?? 'last';
    world.names.set(`${as}.membership`, membership.id);
    world.names.set(`${as}.user`, `User/${user.id}`).set(`${as}.userId`, user.id);
    world.names.set(`${as}.profile`, `${profile.resourceType}/${profile.id}`);
    const made = Object.entries(created).flatMap(([what, isNew]) => (isNew ? [what] : []));
    return [made.join(' '), email.status];
  }
  if ('member' in ask) return updateMember(ask.member, ask.changes, context);
  if ('members' in ask) {
    const { entry = [] } = await searchMembers(projectOf(ask.project), ask.members, context);
    return entry.map(({ resource }) => (resource as ProjectMembership).profile.display!).sort();
  }
  if ('dismiss' in ask) {
    await removeMember(ask.dismiss, context);
    return codeOf(signIn(store, { membership: ask.dismiss }));
  }
  if ('resend' in ask) return (await resendInvitation(ask.resend, context)).status;
  if ('newProject' in ask) {
    const project = await createProject(ask.newProject as Project & { name: string }, context);
    if (ask.as !== undefined) {
      world.projects.set(ask.as, project.id);
      world.names.set(`${ask.as}.id`, project.id);
    }
    return project;
  }
  if ('newClient' in ask) {
    const { client, membership } = await createClient(
      projectOf(ask.project),
      ask.newClient as ClientOrBotBody,
      context,
    );
    world.names.set(`${ask.as ?? 'last'}.client`, client.id).set(`${ask.as ?? 'last'}.membership`, membership.id);
    return client;
  }
  if ('newBot' in ask) {
    const { bot, membership } = await createBot(projectOf(ask.project), ask.newBot as ClientOrBotBody, context);
    world.names.set(`${ask.as ?? 'last'}.client`, bot.id).set(`${ask.as ?? 'last'}.membership`, membership.id);
    return bot;
  }
  if ('rotate' in ask) {
    const project = projectOf(ask.project);
    const { rotate: client, keepOldFor } = ask;
    const { secret } = (await rotateClientSecret({ project, client, keepOldFor }, context)) as { secret: string };
    return verifyClientSecret({ project, client, secret }, { store });
  }
  if ('signIn' in ask) {
    const signedIn = await signIn(store, ask.signIn as { membership: string });
    return [signedIn.profile.split('/')[0], signedIn.admin];
  }
  const [type, id] = named(ask.explain) as [string, string];
  const { interactions } = (await explainAccess({ type, id }, { store, caller })) as unknown as {
    interactions: Record<string, { allowed: boolean }>;
  };
  return Object.entries(interactions).flatMap(([name, { allowed }]) => (allowed ? [name] : []));
}

/** Replaces `@{name.part}` in every text by the result of an earlier operation. */
export function fillNames<Value>({ names }: World, value: Value): Value {
  const text = JSON.stringify(value).replaceAll(/@\{([\w.-]+)\}/g, (_, name: string) => {
    const known = names.get(name);
    if (known === undefined) throw new Error(`Nothing is called ${name}`);
    return known;
  });
  return JSON.parse(text) as Value;
}

function bundleOf(type: Bundle['type'], entries: readonly Entry[]): Bundle {
  return {
    resourceType: 'Bundle',
    type,
    entry: entries.map(({ resource, fullUrl, ...request }) => ({
      ...(resource === undefined ? {} : { resource: resource as unknown as Resource }),
      ...(fullUrl === undefined ? {} : { fullUrl }),
      request,
    })),
  };
}

function parts(search: string): [ResourceType, string] {
  const [type, ...query] = search.split('?');
  return [type as ResourceType, query.join('?')];
}

function named(reference: string): [ResourceType, string] {
  return reference.split('/') as [ResourceType, string];
}

function idsOf({ entry = [] }: Bundle): readonly string[] {
  return entry.map(({ resource }) => resource!.id!);
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'found',
    (error: unknown) => {
      if (error instanceof FhirError) return error.code;
      throw error;
    },
  );
}
