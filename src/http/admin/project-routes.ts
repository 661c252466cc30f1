import { trimBaseUrl } from '../../fhir/reference.js';
import type { InviteBody, InviteTrial } from '../../projects/body/invite-body.js';
import { invite } from '../../projects/invite/invite.js';
import { deactivateProject, reactivateProject } from '../../projects/project/deactivate-project.js';
import { deleteProject } from '../../projects/project/delete-project.js';
import { listProjects } from '../../projects/project/list-projects.js';
import { type ProjectChanges, updateProject } from '../../projects/project/update-project.js';
import { createProject, type ProjectBody } from '../../projects/project/create-project.js';
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
    answer: async (exchange) => ({
      status: 200,
      json: await listProjects(exchange.url.searchParams, contextOf(exchange)),
    }),
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
      return answerWritten(exchange, { status: 'created', resource });
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'projects/:project/invite',
    parameters: [],
    async answer(exchange) {
      const body = (await readJsonObject(exchange)) as unknown as InviteBody | InviteTrial;
      const result = await invite(exchange.path.project, body as InviteTrial, contextOf(exchange));
      const { membership, email } = result;
      if (email.status === 'failed') exchange.report(email.error.cause ?? email.error);
      if (body.dryRun === true) return { status: 200, json: result, type: 'application/json' };
      const location = `${trimBaseUrl(exchange.settings.baseUrl)}/ProjectMembership/${membership.id!}`;
      const answer = answerResource(membership);
      return { ...answer, headers: { ...answer.headers, 'content-location': location } };
    },
  },
];
