import type { EmailOutcome } from '../../projects/mail/invitation.js';
import type { InviteBody, InviteDryRun } from '../../projects/body/invite-body.js';
import { invite } from '../../projects/invite/invite.js';
import { deactivateProject, reactivateProject } from '../../projects/project/deactivate-project.js';
import { deleteProject } from '../../projects/project/delete-project.js';
import { mayReadProjects, readProject } from '../../projects/project/read-project.js';
import { listProjects } from '../../projects/project/list-projects.js';
import { type ProjectChanges, updateProject } from '../../projects/project/update-project.js';
import { createProject, type ProjectBody } from '../../projects/project/create-project.js';
import { adminUrl, memberUrl, withAddresses } from '../exchange/addresses.js';
import { contextOf, parameterOf } from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { answerResource, answerWritten } from '../rest/answer-resource.js';

const PROJECT = 'projects/:project';

export const PROJECT_ROUTES: readonly Route[] = [
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: 'projects',
    parameters: 'checked',
    async answer(exchange) {
      const { baseUrl } = exchange.settings;
      const found = await listProjects(exchange.url.searchParams, contextOf(exchange));
      const address = adminUrl(baseUrl, 'projects');
      return answerResource(withAddresses(found, address, (id) => adminUrl(baseUrl, 'projects', id)));
    },
  },
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: PROJECT,
    parameters: [],
    answer: async (exchange) => answerResource(await readProject(exchange.path.project, contextOf(exchange))),
  },
  {
    group: 'admin',
    method: 'PATCH',
    root: 'admin',
    path: PROJECT,
    parameters: [],
    async answer(exchange) {
      const changes = (await readJsonObject(exchange)) as ProjectChanges;
      return answerResource(await updateProject(exchange.path.project, changes, contextOf(exchange)));
    },
  },
  {
    group: 'admin',
    method: 'DELETE',
    root: 'admin',
    path: PROJECT,
    parameters: ['name'],
    async answer(exchange) {
      const name = parameterOf(exchange, 'name') ?? '';
      await deleteProject(exchange.path.project, { name }, contextOf(exchange));
      return { status: 204 };
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: `${PROJECT}/deactivate`,
    parameters: [],
    answer: async (exchange) => answerResource(await deactivateProject(exchange.path.project, contextOf(exchange))),
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: `${PROJECT}/reactivate`,
    parameters: [],
    answer: async (exchange) => answerResource(await reactivateProject(exchange.path.project, contextOf(exchange))),
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'fhir',
    path: 'Project',
    parameters: [],
    async answer(exchange) {
      const body = (await readJsonObject(exchange)) as unknown as ProjectBody;
      const resource = await createProject(body, contextOf(exchange));
      // Who may only create projects reads none, so there is no URL to give.
      const location = mayReadProjects(exchange.caller)
        ? adminUrl(exchange.settings.baseUrl, 'projects', resource.id)
        : null;
      const answer = answerWritten(exchange, { status: 'created', resource }, location);
      if (!('id' in body) || body.id === resource.id) return answer;
      const warning = `199 - "The id of the body was not used; the project has the id ${resource.id}"`;
      return { ...answer, headers: { ...answer.headers, warning } };
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'projects/:project/invite',
    parameters: [],
    async answer(exchange) {
      const body = (await readJsonObject(exchange)) as unknown as InviteBody | InviteDryRun;
      const result = await invite(exchange.path.project, body as InviteDryRun, contextOf(exchange));
      const { membership, email } = result;
      if (email.status === 'failed') exchange.report(email.error.cause ?? email.error);
      if (body.dryRun === true) return { status: 200, json: result, type: 'application/json' };
      const answer = answerResource(membership);
      const location = memberUrl(exchange, exchange.path.project, membership.id!);
      return { ...answer, headers: { ...answer.headers, 'content-location': location, ...emailHeaders(email) } };
    },
  },
];

/** What became of the invitation's e-mail. The body is the membership, which Medplum's clients expect. */
function emailHeaders(email: EmailOutcome): { readonly [name: string]: string } {
  const { status } = email;
  if (status === 'sent') return { 'email-status': status };
  if (status === 'skipped') return { 'email-status': `skipped; reason=${email.reason}` };
  return { 'email-status': status, warning: '199 - "The e-mail could not be sent; send the invitation again"' };
}
