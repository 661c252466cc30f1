import { FhirError } from '../../fhir/error.js';
import type { JsonObject } from '../../fhir/resource.js';
import type { InviteBody, InviteDryRun } from '../../projects/body/invite-body.js';
import { erasePatient } from '../../projects/erasure/erase-patient.js';
import { eraseResource } from '../../projects/erasure/erase-resource.js';
import { purgeHistory } from '../../projects/erasure/purge-history.js';
import { invite } from '../../projects/invite/invite.js';
import type { EmailOutcome } from '../../projects/mail/invitation.js';
import { createProject, type ProjectBody } from '../../projects/project/create-project.js';
import { deactivateProject, reactivateProject } from '../../projects/project/deactivate-project.js';
import { deleteProject } from '../../projects/project/delete-project.js';
import { exportProject } from '../../projects/project/export-project.js';
import { listProjects } from '../../projects/project/list-projects.js';
import { mayReadProjects, readProject } from '../../projects/project/read-project.js';
import { type ProjectChanges, updateProject } from '../../projects/project/update-project.js';
import type { Answer } from '../exchange/answer.js';
import {
  adminUrl,
  type CallerExchange,
  contextOf,
  memberUrl,
  parameterOf,
  type Route,
  withAddresses,
} from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-body.js';
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
  // A project as NDJSON, sent as fast as the client reads.
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: 'projects/:project/export',
    parameters: ['history'],
    takesAnyFormat: true,
    async answer(exchange) {
      const history = booleanOf(parameterOf(exchange, 'history'));
      const lines = exportProject(exchange.path.project, { ...contextOf(exchange), history })[Symbol.asyncIterator]();
      // The first line is read before the response begins, so that a refusal can set its status.
      const first = await lines.next();
      return {
        status: 200,
        headers: { 'content-type': 'application/fhir+ndjson' },
        stream: streamOf(lines, first, exchange),
      };
    },
  },
  // Removal for good, for super administrators without access policies; the functions decide.
  removal('erase-resource', ['type', 'id', 'reason', 'scrub'], ({ type, id, ...options }, context) =>
    eraseResource(type as never, id as never, { ...context, ...(options as { reason: never }) }),
  ),
  removal(
    'erase-patient',
    ['id', 'reason', 'scrub', 'dryRun', 'shared', 'keepTypes'],
    ({ id, ...options }, context) => {
      assertTypes('keepTypes', options['keepTypes']);
      return erasePatient(id as never, { ...context, ...(options as { reason: never }) });
    },
  ),
  removal('purge-history', ['olderThan', 'keep', 'type', 'scrub'], ({ scrub, ...purge }, context) =>
    purgeHistory(purge as never, { ...context, scrub: scrub as never }),
  ),
];

/** What became of the invitation's e-mail. The body is the membership, which Medplum's clients expect. */
function emailHeaders(email: EmailOutcome): { readonly [name: string]: string } {
  const { status } = email;
  if (status === 'sent') return { 'email-status': status };
  if (status === 'skipped') return { 'email-status': `skipped; reason=${email.reason}` };
  return { 'email-status': status, warning: '199 - "The e-mail could not be sent; send the invitation again"' };
}

/** The size from which on lines are sent, in characters. */
const CHUNK = 1 << 14;

/** A failure after the first line aborts the response, so that no client mistakes a part for the whole. */
function streamOf(
  lines: AsyncIterator<string>,
  first: IteratorResult<string>,
  { report }: CallerExchange,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string> | undefined = first;
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          let text = '';
          while (text.length < CHUNK) {
            const { done, value } = next ?? (await lines.next());
            next = undefined;
            if (done === true) {
              if (text !== '') controller.enqueue(encoder.encode(text));
              controller.close();
              return;
            }
            text += value;
          }
          controller.enqueue(encoder.encode(text));
        } catch (error) {
          report(error);
          controller.error(error);
        }
      },
      async cancel() {
        await lines.return?.();
      },
    },
    // A page is read when the client is ready for it.
    { highWaterMark: 0 },
  );
}

function booleanOf(value: string | undefined): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new FhirError('invalid', 'history must be true or false');
}

type RemovalContext = ReturnType<typeof contextOf> & { readonly project: string };

function removal(
  name: string,
  members: readonly string[],
  remove: (body: JsonObject, context: RemovalContext) => Promise<object>,
): Route {
  return {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: `projects/:project/${name}`,
    parameters: [],
    async answer(exchange: CallerExchange): Promise<Answer> {
      const body = await readJsonObject(exchange);
      const unknown = Object.keys(body).find((member) => !members.includes(member));
      // A misspelled option of a removal must not count as absent.
      if (unknown !== undefined) throw new FhirError('invalid', `The body may have ${members.join(', ')} only`);
      for (const option of ['scrub', 'dryRun']) assertBoolean(option, body[option]);
      const context = { ...contextOf(exchange), project: exchange.path.project };
      return { status: 200, json: await remove(body, context), type: 'application/json' };
    },
  };
}

function assertBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new FhirError('invalid', `${name} must be true or false`);
}

function assertTypes(name: string, value: unknown): void {
  if (value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'))) return;
  throw new FhirError('invalid', `${name} must be a list of resource types`);
}
