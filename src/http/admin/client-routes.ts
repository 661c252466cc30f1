import type { ClientApplication } from '@medplum/fhirtypes';
import { FhirError } from '../../fhir/error.js';
import { notFound } from '../../fhir/reference.js';
import { type BotBody, type ClientBody, createBot, createClient } from '../../projects/clients/create-client.js';
import { rotateClientSecret } from '../../projects/clients/rotate-client-secret.js';
import { updateBot, updateClient } from '../../projects/clients/update-client.js';
import { removeMember } from '../../projects/members/update-member.js';
import { searchMembers } from '../../projects/members/search-members.js';
import { repositoryOf } from '../../repository/create-repository.js';
import { searchAuditLog } from '../../repository/search-audit-log.js';
import { FORMAT_PARAMETERS } from '../../search/parse/parse-search.js';
import type { Answer } from '../exchange/answer.js';
import {
  adminUrl,
  boundedContextOf,
  type CallerExchange,
  contextOf,
  repositoryFor,
  type Route,
  withAddresses,
} from '../exchange/exchange.js';
import { readJsonObject, readOperation } from '../exchange/read-body.js';
import { answerResource } from '../rest/answer-resource.js';

/** Clients and Bots of a project, and its audit log. They are listed as its members: `members?profile-type=ClientApplication,Bot`. */
export const CLIENT_ROUTES: readonly Route[] = [
  route('POST', 'client', async (exchange) => {
    const body = (await readJsonObject(exchange)) as unknown as ClientBody;
    const { client, secret } = await createClient(exchange.path.project, body, contextOf(exchange));
    // Medplum's clients look for the secret in the resource.
    return created({ ...client, secret });
  }),
  route('POST', 'bot', async (exchange) => {
    const body = (await readJsonObject(exchange)) as unknown as BotBody;
    return created((await createBot(exchange.path.project, body, contextOf(exchange))).bot);
  }),
  route('PATCH', 'client/:id', async (exchange) => {
    const { project, id } = exchange.path;
    const changes = await readJsonObject(exchange);
    return answerResource(await updateClient({ project, client: id }, changes, contextOf(exchange)));
  }),
  route('PATCH', 'bot/:id', async (exchange) => {
    const { project, id } = exchange.path;
    const changes = await readJsonObject(exchange);
    return answerResource(await updateBot({ project, bot: id }, changes, contextOf(exchange)));
  }),
  route('DELETE', 'client/:id', (exchange) => remove(exchange, 'ClientApplication')),
  route('DELETE', 'bot/:id', (exchange) => remove(exchange, 'Bot')),
  {
    group: 'admin',
    method: 'POST',
    root: 'fhir',
    path: 'ClientApplication/:id/$rotate-secret',
    parameters: [],
    async answer(exchange) {
      const { id } = exchange.path;
      const { keepOldFor } = Object.fromEntries(await readOperation(exchange, ['keepOldFor']));
      if (keepOldFor !== undefined && !/^\d{1,15}$/.test(keepOldFor)) {
        throw new FhirError('invalid', 'keepOldFor must be a whole number of milliseconds');
      }
      const client = await repositoryOf(repositoryFor(exchange)).read('ClientApplication', id);
      const rotation = { project: exchange.caller.project, client: id, keepOldFor: Number(keepOldFor ?? 0) };
      const { secret } = await rotateClientSecret(rotation, contextOf(exchange));
      return { status: 200, json: { ...(client as ClientApplication), secret } };
    },
  },
  // Who saw what: a patient asks for `patient=Patient/[id]`. The caller's rules for AuditEvent apply.
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: 'audit-log',
    parameters: 'checked',
    async answer(exchange) {
      const { baseUrl } = exchange.settings;
      const pairs = [...exchange.url.searchParams].filter(([name]) => !FORMAT_PARAMETERS.has(name));
      // Events of the log are not read by their id, so they have no URL.
      const found = await searchAuditLog(new URLSearchParams(pairs), boundedContextOf(exchange));
      return answerResource(withAddresses(found, adminUrl(baseUrl, 'audit-log')));
    },
  },
];

function route(method: Route['method'], path: string, answer: Route['answer']): Route {
  return { group: 'admin', method, root: 'admin', path: `projects/:project/${path}`, parameters: [], answer };
}

function created(resource: object): Answer {
  return { ...answerResource(resource), status: 201 };
}

/** Ends its membership. The resource stays, because others refer to it as their author. */
async function remove(exchange: CallerExchange, type: 'ClientApplication' | 'Bot'): Promise<Answer> {
  const { project, id } = exchange.path;
  const context = contextOf(exchange);
  const { entry = [] } = await searchMembers(project, new URLSearchParams({ profile: `${type}/${id}` }), context);
  const memberships = entry.filter(({ search }) => search?.mode === 'match');
  if (memberships.length === 0) throw notFound({ type, id });
  for (const { resource } of memberships) await removeMember(resource!.id, context);
  return { status: 204 };
}
