import type { AuditRecord } from '../../audit/audit-record.js';
import type { AuditOptions } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { sameJson } from '../../fhir/json/copy-json.js';
import { applyJsonPatch } from '../../fhir/json-patch.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { acceptInvitation } from '../../projects/accept/accept-invitation.js';
import { MEMBERSHIP_FIELDS } from '../../projects/body/membership-settings.js';
import { resendInvitation } from '../../projects/invite/resend-invitation.js';
import { revokeSessions } from '../../projects/members/revoke-sessions.js';
import { readMember, removeMember, updateMember } from '../../projects/members/update-member.js';
import type { Answer } from '../exchange/answer.js';
import {
  adminUrl,
  type CallerExchange,
  contextOf,
  type Exchange,
  type Route,
  withTokenErrors,
} from '../exchange/exchange.js';
import { readJson, readJsonObject } from '../exchange/read-body.js';
import { answerResource } from '../rest/answer-resource.js';
import { answerMembers } from '../rest/read-routes.js';

const MEMBER = 'projects/:project/members/:membership';

/** Members as FHIR resources, under the URLs that Medplum's clients use. */
export const MEMBER_ROUTES: readonly Route[] = [
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: 'projects/:project/members',
    parameters: 'checked',
    answer: (exchange) => {
      const { project } = exchange.path;
      const address = adminUrl(exchange.settings.baseUrl, 'projects', project, 'members');
      return answerMembers(exchange, project, exchange.url.searchParams, address);
    },
  },
  {
    group: 'admin',
    method: 'GET',
    root: 'admin',
    path: MEMBER,
    parameters: [],
    async answer(exchange) {
      const { project, membership } = exchange.path;
      return answerResource(await readMember(project, membership, contextOf(exchange)));
    },
  },
  { group: 'admin', method: 'POST', root: 'admin', path: MEMBER, parameters: [], answer: change },
  { group: 'admin', method: 'PATCH', root: 'admin', path: MEMBER, parameters: [], answer: change },
  {
    group: 'admin',
    method: 'DELETE',
    root: 'admin',
    path: MEMBER,
    parameters: [],
    async answer(exchange) {
      const context = contextOf(exchange);
      // The project of the URL must be that of the member.
      const { id } = await readMember(exchange.path.project, exchange.path.membership, withoutSuccess(context));
      await removeMember(id, context);
      return { status: 204 };
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: `${MEMBER}/revoke-sessions`,
    parameters: [],
    async answer(exchange) {
      const { project, membership } = exchange.path;
      const context = contextOf(exchange);
      const { caller } = exchange;
      const isOwn = caller.kind === 'member' && caller.project === project && caller.membership === membership;
      // The project of the URL must be that of the member.
      if (!isOwn) await readMember(project, membership, withoutSuccess(context));
      await revokeSessions({ membership }, context);
      return { status: 204 };
    },
  },
  // Invitations that were sent: again, and accepted.
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'projects/:project/members/:membership/resend-invitation',
    parameters: [],
    async answer(exchange) {
      const context = contextOf(exchange);
      const { project, membership } = exchange.path;
      // The project of the URL must be that of the member.
      const { id } = await readMember(project, membership, { ...context, audit: undefined, requireAudit: undefined });
      const email = await resendInvitation(id, context);
      if (email.status === 'failed') exchange.report(email.error.cause ?? email.error);
      const { status, reason } = { reason: undefined, ...email };
      return { status: 200, json: { status, ...(reason === undefined ? {} : { reason }) }, type: 'application/json' };
    },
  },
  {
    group: 'admin',
    method: 'POST',
    root: 'admin',
    path: 'invitations/accept',
    parameters: [],
    isAnonymous: true,
    answer: accept,
    answerPublic: accept,
  },
];

/** Older versions of MedplumClient send JSON Patch as `application/json`. */
const CHANGE_TYPES = ['application/json-patch+json', 'application/json', 'application/fhir+json'];

async function change(exchange: CallerExchange): Promise<Answer> {
  const body = await readJson(exchange, CHANGE_TYPES);
  const context = contextOf(exchange);
  const { project, membership } = exchange.path;
  const before = await readMember(project, membership, withoutSuccess(context));
  const asked = Array.isArray(body) ? (applyJsonPatch(before, body) as unknown) : body;
  if (!isJsonObject(asked)) throw new FhirError('invalid', 'The body must be a JSON object, or a JSON Patch');
  const changes = 'resourceType' in asked ? changesBetween(before as never, asked) : asked;
  return answerResource(await updateMember(before.id, changes, context));
}

/** The operation that follows is audited itself, so a read before it is audited only if it fails. */
function withoutSuccess<Context extends AuditOptions>(context: Context): Context {
  const { audit } = context;
  if (audit === undefined) return context;
  return { ...context, audit: (record: AuditRecord) => (record.outcome.success ? undefined : audit(record)) };
}

/**
 * The changes in a complete membership, as Medplum's clients send it: absent settings are removed.
 *
 * @throws FhirError `invalid` - it is not the membership of the URL, or names another project, User or profile
 */
function changesBetween(before: JsonObject, body: JsonObject): JsonObject {
  for (const name of ['resourceType', 'id', 'project', 'user', 'profile']) {
    const isSame = referenceOf(body[name]) === referenceOf(before[name]) || sameJson(body[name], before[name]);
    if (body[name] === undefined || isSame) continue;
    throw new FhirError('invalid', `${name} of a membership cannot be changed`);
  }
  const unset = { admin: false, active: true };
  return Object.fromEntries(
    MEMBERSHIP_FIELDS.filter((name) => !sameJson(body[name], before[name])).map((name) => [
      name,
      body[name] ?? (name in unset ? unset[name as keyof typeof unset] : null),
    ]),
  );
}

/** Ignores the display of a reference, which the service sets itself. */
function referenceOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? ((value as JsonObject)['reference'] ?? {}) : value;
}

async function accept(exchange: Exchange): Promise<Answer> {
  const { store, identify, limits, audit, requireAudit, clock } = exchange.settings;
  if (identify === undefined) throw new FhirError('not-found', 'There is no such route');
  const identity = await withTokenErrors(async () => identify(exchange.request));
  if (identity === undefined) throw new FhirError('unauthenticated', 'A bearer token is needed');
  const { token } = await readJsonObject(exchange);
  const context = { ...exchange.stated, store, limits, audit, requireAudit, clock, signal: exchange.signal };
  return { status: 200, json: await acceptInvitation(token as string, identity, context), type: 'application/json' };
}
