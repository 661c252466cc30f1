import type { Bot, ClientApplication } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import { hasField, headOf, withoutFields } from '../../access/fields/hidden-fields.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { isSwitchedOff } from '../../access/sign-in/member.js';
import { FhirError } from '../../fhir/error.js';
import { withoutNulls } from '../../fhir/json/decimal-texts.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { nameToId, notFound, referenceTo } from '../../fhir/reference.js';
import { type AnyResource, elementsOf, type JsonObject, secretFields, type Stored } from '../../fhir/resource.js';
import { assertBody, BodyReader } from '../body/body-reader.js';
import { membershipsWithProfiles } from '../people/find-people.js';
import { keepAnAdministrator } from '../session/administrators.js';
import { commitPlanned, type PlannedWrites } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import { authored, copyStored, openProject, type ProjectSession, targetOf } from '../session/project-session.js';
import {
  assertMayMakeSystemBot,
  checkClient,
  clientFields,
  type ClientType,
  readClientSettings,
} from './client-settings.js';

/** A ClientApplication of a project. */
export interface ClientRef {
  readonly project: ResourceRef;
  readonly client: ResourceRef;
}

/** A Bot of a project. */
export interface BotRef {
  readonly project: ResourceRef;
  readonly bot: ResourceRef;
}

/** The changes of a ClientApplication. Absent: unchanged. Null: removed. */
export type ClientChanges = {
  [
    Name in keyof Omit<
      ClientApplication,
      'resourceType' | 'id' | 'meta' | 'implicitRules' | 'contained' | 'secret' | 'retiringSecret'
    >
  ]?: ClientApplication[Name] | null | undefined;
};
/** The changes of a Bot. Absent: unchanged. Null: removed. */
export type BotChanges = {
  [Name in keyof Omit<Bot, 'resourceType' | 'id' | 'meta' | 'implicitRules' | 'contained'>]?:
    Bot[Name] | null | undefined;
};

/**
 * Changes a ClientApplication: its name, `redirectUris`, `jwksUri`, `status` and the like. For the secret use {@link
 * rotateClientSecret}, for the rights {@link updateMember}.
 *
 * An identity provider is replaced as a whole. Its secrets, which nobody can read, are kept if the rest is unchanged.
 * Otherwise pass them again, so that a kept secret is never sent to another address.
 *
 * @returns the client as it is now, a private copy without secrets
 * @throws FhirError `forbidden` - the caller is not an administrator of the project, or would deactivate itself
 * @throws FhirError `not-found` - no such client in the project
 * @throws FhirError `invalid` - the changes; one issue per field
 * @throws FhirError `conflict` - the last administrator would be deactivated
 *
 * @example
 * await updateClient({ project, client }, { redirectUris: ['https://app.example/callback'] }, { store, caller });
 */
export function updateClient(
  { project, client }: ClientRef,
  changes: ClientChanges,
  context: ProjectContext,
): Promise<Stored<ClientApplication>> {
  return updateClientOrBot(project, 'ClientApplication', client, changes, context);
}

/**
 * Changes a Bot: its name, code, schedule and the like.
 *
 * @throws FhirError as {@link updateClient}
 */
export function updateBot(
  { project, bot }: BotRef,
  changes: BotChanges,
  context: ProjectContext,
): Promise<Stored<Bot>> {
  return updateClientOrBot(project, 'Bot', bot, changes, context);
}

function updateClientOrBot<Written extends ClientApplication | Bot>(
  project: ResourceRef,
  type: ClientType,
  name: ResourceRef,
  changes: unknown,
  context: ProjectContext,
): Promise<Stored<Written>> {
  return projectOperation(context, type === 'Bot' ? 'update-bot' : 'update-client', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'update');
    const id = nameToId(name, type);
    if (id === undefined)
      throw new FhirError('invalid', `The ${type} must be named by its id, ${type}/id or a Reference`);
    facts.targets = [{ type, id }];
    const body = assertBody(changes, `A change of a ${type}`);
    const { plan, results } = await commitPlanned(
      session.guard,
      () => planUpdate(session, type, id, body),
      session.options,
    );
    const written = results.at(-1);
    const updated = written?.kind === 'put' ? written.resource : withoutFields(plan.client, secretFields(type));
    facts.targets = [targetOf(updated)];
    return copyStored<Written>(updated, session);
  });
}

interface ClientPlan extends PlannedWrites {
  readonly client: AnyResource;
}

async function planUpdate(
  session: ProjectSession,
  type: ClientType,
  id: string,
  body: JsonObject,
): Promise<ClientPlan> {
  const key = { type, id };
  // Reads past the guard, which hides the secrets to keep.
  const [found] = await session.store.read([{ ...key, project: session.project }], session.options);
  if (found?.status !== 'found') throw notFound(key);
  const client = changedClient(session, type, found.resource, body);
  // A given secret is always written, even if unchanged: the answer must not reveal equality.
  const isSame = sameJson(client, found.resource) && !givesSecret(type, body);
  if (isSame) return { client, writes: [] };
  const guards = isSwitchedOff(client) && !isSwitchedOff(found.resource) ? await keepAdministrators(session, key) : [];
  const resource = authored(session, client);
  return { client, writes: [...guards, { kind: 'put', key, resource, expect: { version: found.versionId } }] };
}

function givesSecret(type: ClientType, body: JsonObject): boolean {
  const given = { resourceType: type, ...body };
  return secretFields(type).some((path) => hasField(given, path));
}

/** A client that is switched off cannot sign in, so its memberships count as deactivated. */
async function keepAdministrators(
  session: ProjectSession,
  { type, id }: { readonly type: string; readonly id: string },
): Promise<readonly GuardedWrite[]> {
  const memberships = await membershipsWithProfiles(session, [referenceTo(type, id)]);
  const guards = await Promise.all(
    memberships.map((membership) => keepAnAdministrator(session, membership, { ...membership, active: false })),
  );
  // Each check writes the same Project, and once is enough.
  return guards.find((one) => one.length > 0) ?? [];
}

function changedClient(session: ProjectSession, type: ClientType, stored: AnyResource, body: JsonObject): AnyResource {
  const reader = new BodyReader(session.store.model);
  reader.known(body, '', clientFields(session.store.model, type));
  const settings: { [name: string]: unknown } = {
    ...readClientSettings(session.store.model, reader, type, body, true),
  };
  keepSecrets(reader, type, stored, settings);
  const client = withoutNulls({ ...stored, ...settings }) as unknown as AnyResource & { resourceType: ClientType };
  if (reader.issues.length === 0) checkClient(session.store.model, reader, client);
  reader.assertGood(`The ${type} cannot be changed`);
  assertMayMakeSystemBot(session.caller, stored, client);
  return client;
}

/** Secrets inside an unchanged element are kept; a changed element must contain its own. */
function keepSecrets(
  reader: BodyReader,
  type: ClientType,
  stored: AnyResource,
  settings: { [name: string]: unknown },
): void {
  const seen = elementsOf(withoutFields(stored, secretFields(type)));
  for (const path of secretFields(type)) {
    const head = headOf(path);
    const asked = settings[head];
    if (head === path || asked === undefined || asked === null) continue;
    if (sameJson(asked, seen[head])) {
      Reflect.deleteProperty(settings, head);
      continue;
    }
    const given = { resourceType: type, [head]: asked };
    if (hasField(stored, path) && !hasField(given, path)) {
      reader.fault(path, `${path} must be given again where ${head} changes`, 'required');
    }
  }
}
