import type { Bot, ClientApplication, ProjectMembership, Reference } from '@medplum/fhirtypes';
import type { GuardedWrite } from '../../access/contract.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import { FhirError } from '../../fhir/error.js';
import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { referenceOf, referenceTo } from '../../fhir/reference.js';
import type { Stored } from '../../fhir/resource.js';
import { randomId, randomSecret } from '../../platform/crypto.js';
import {
  assertAccessSize,
  assertParametersUsed,
  assertNamedExist,
  policyExistenceChecks,
} from '../body/assert-settings.js';
import { assertBody, BodyReader, own } from '../body/body-reader.js';
import type { AccessChoice } from '../body/invite-body.js';
import {
  type MembershipSettings,
  policiesOf,
  readMembershipSettings,
  withSettings,
} from '../body/membership-settings.js';
import { commitPlanned } from '../session/commit-planned.js';
import { type ProjectContext, projectOperation } from '../session/project-context.js';
import {
  inviterReference,
  authored,
  copyWritten,
  openProject,
  type ProjectSession,
  readProject,
  targetOf,
} from '../session/project-session.js';
import { hashSecret } from './client-secret.js';
import { assertMayMakeSystemBot, checkClient, clientFields, readClientSettings } from './client-settings.js';
import type { BotChanges, ClientChanges } from './update-client.js';

/** A client or Bot to create as a member. */
export interface ClientOrBotBody {
  name: string;
  description?: string | undefined;
  admin?: boolean | undefined;
  accessPolicy?: Reference | undefined;
  access?: AccessChoice[] | undefined;
}

/**
 * {@link ClientOrBotBody} with other elements of the ClientApplication, such as `redirectUris`; `createClient`
 * generates the secret.
 */
export type ClientBody = ClientOrBotBody & {
  [Name in keyof ClientChanges]?: NonNullable<ClientChanges[Name]> | undefined;
};

/** {@link ClientOrBotBody} with other elements of the Bot, such as its code. */
export type BotBody = ClientOrBotBody & { [Name in keyof BotChanges]?: NonNullable<BotChanges[Name]> | undefined };

/** The client as private copies without secrets. `secret` is returned only here; the store has only its hash. */
export interface CreatedClient {
  readonly client: Stored<ClientApplication>;
  readonly membership: Stored<ProjectMembership>;
  readonly secret: string;
}

/** The Bot and its membership, as private copies. */
export interface CreatedBot {
  readonly bot: Stored<Bot>;
  readonly membership: Stored<ProjectMembership>;
}

/**
 * Creates a ClientApplication with a secret, and its membership in the project. Without a policy it sees the whole
 * project.
 *
 * @throws FhirError `forbidden`, `not-found` - as with {@link invite}
 * @throws FhirError `invalid` - the body, or a policy that does not exist in the project; one issue per field
 *
 * @example
 * const { client, secret } = await createClient(project, { name: 'Laboratory feed' }, { store, caller });
 */
export function createClient(project: ResourceRef, body: ClientBody, context: ProjectContext): Promise<CreatedClient> {
  return projectOperation(context, 'create-client', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'create');
    const request = parseClientBody<ClientApplication>(bounded.store.model, 'ClientApplication', body);
    const secret = randomSecret();
    const resource = { ...request.client, secret: await hashSecret(secret) };
    const { client, membership } = await writeClient(session, resource, request.settings);
    facts.targets = [client, membership].map(targetOf);
    return { client, membership, secret };
  });
}

/**
 * Creates a Bot and its membership in the project. Without a policy it sees the whole project. Bots have no secret: the
 * host runs them and signs them in with `{ project, client }`.
 *
 * @throws FhirError as {@link createClient}
 */
export function createBot(project: ResourceRef, body: BotBody, context: ProjectContext): Promise<CreatedBot> {
  return projectOperation(context, 'create-bot', async (facts, bounded) => {
    const session = await openProject(project, bounded, 'create');
    const request = parseClientBody<Bot>(bounded.store.model, 'Bot', body);
    assertMayMakeSystemBot(session.caller, request.client);
    const { client, membership } = await writeClient(session, request.client, request.settings);
    facts.targets = [client, membership].map(targetOf);
    return { bot: client, membership };
  });
}

/** The membership of a client or Bot, which is its own User and profile. */
export function clientMembership(
  project: string,
  client: ClientApplication | Bot,
  settings: MembershipSettings,
  invitedBy?: ProjectMembership['invitedBy'],
): ProjectMembership {
  const reference = { reference: referenceOf(client), display: client.name! };
  const membership = {
    resourceType: 'ProjectMembership',
    id: randomId(),
    active: true,
    project: { reference: referenceTo('Project', project) },
    ...(invitedBy === undefined ? {} : { invitedBy }),
    user: reference,
    profile: reference,
  } as ProjectMembership;
  return withSettings(membership, settings);
}

function parseClientBody<Written extends ClientApplication | Bot>(
  model: FhirModel,
  type: Written['resourceType'],
  input: unknown,
): { readonly client: Written; readonly settings: MembershipSettings } {
  const body = assertBody(input, type === 'Bot' ? 'A Bot' : 'A client');
  const reader = new BodyReader(model);
  reader.known(body, '', [...clientFields(model, type), 'admin', 'accessPolicy', 'access']);
  if (own(body, 'name') === undefined) reader.fault('name', 'name is required', 'required');
  const described = readClientSettings(model, reader, type, body, false);
  const { admin, accessPolicy, access } = body;
  const membership = Object.fromEntries(
    Object.entries({ admin, accessPolicy, access }).filter(([, value]) => value !== undefined),
  );
  const settings = readMembershipSettings(reader, membership, '', false);
  const client = { resourceType: type, id: randomId(), ...described } as Written;
  if (reader.issues.length === 0) checkClient(model, reader, client);
  reader.assertGood(`The ${type} cannot be created`);
  return { client, settings };
}

async function writeClient<Written extends ClientApplication | Bot>(
  session: ProjectSession,
  client: Written,
  settings: MembershipSettings,
): Promise<{ readonly client: Stored<Written>; readonly membership: Stored<ProjectMembership> }> {
  const membership = authored(session, clientMembership(session.project, client, settings, inviterReference(session)));
  const { results } = await commitPlanned(
    session.guard,
    async () => {
      const { project } = await readProject(session);
      if (project.active === false) throw new FhirError('conflict', `Project/${session.project} is not active`);
      await assertNamedExist(session, policiesOf(settings, ''));
      await assertAccessSize(session, settings, '');
      await assertParametersUsed(session, settings, '');
      return { writes: clientWrites(session, client, membership, settings) };
    },
    session.options,
  );
  return { client: copyWritten(results[0], session), membership: copyWritten(results[1], session) };
}

function clientWrites(
  session: ProjectSession,
  client: ClientApplication | Bot,
  membership: ProjectMembership,
  settings: MembershipSettings,
): GuardedWrite[] {
  const created = [authored(session, client), membership].map((resource): GuardedWrite => {
    const key = { type: resource.resourceType, id: resource.id! };
    return { kind: 'put', key, resource, expect: { version: null } };
  });
  return [...created, ...policyExistenceChecks(membership.id!, settings)];
}
