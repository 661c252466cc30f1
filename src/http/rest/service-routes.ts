import { whoAmI } from '../../access/who-am-i.js';
import { FhirError } from '../../fhir/error.js';
import { splitReference } from '../../fhir/reference.js';
import { SERVER_SCOPE } from '../../store/resource-key.js';
import type { Answer } from '../exchange/answer.js';
import { boundedContextOf, type CallerExchange, type Exchange, type Route } from '../exchange/exchange.js';

/** What clients and operators ask of the service itself. */
export const SERVICE_ROUTES: readonly Route[] = [
  { group: 'auth', method: 'GET', root: 'beside', path: 'auth/me', parameters: [], answer: me },
  publicRoute('fhir', '.well-known/smart-configuration', ({ settings }) => {
    const { smartConfiguration } = settings;
    if (smartConfiguration === undefined) throw noRoute();
    return { status: 200, json: smartConfiguration, type: 'application/json' };
  }),
  publicRoute('beside', 'healthcheck', async (exchange) => {
    if (exchange.settings.healthcheck !== true) throw noRoute();
    return healthcheck(exchange);
  }),
];

function publicRoute(
  root: Route['root'],
  path: string,
  answer: (exchange: Exchange) => Promise<Answer> | Answer,
): Route {
  const more = { answer, answerPublic: answer, isAnonymous: true } as const;
  return { group: 'metadata', method: 'GET', root, path, parameters: 'any', ...more };
}

/**
 * The caller as MedplumClient and Medplum's components need it: `getProfile`, `getProject`, `getProjectMembership`. The
 * host signs people in, so there are no sessions and no factors to show.
 */
async function me(exchange: CallerExchange): Promise<Answer> {
  const { caller } = exchange;
  const { user, project, membership, profile } = await whoAmI(caller, boundedContextOf(exchange));
  const { type: resourceType, id } = splitReference(membership.profile.reference!);
  const json = {
    // Of a client or Bot, the profile is the user.
    user: user ?? { resourceType, id },
    project,
    membership,
    profile: profile ?? { resourceType, id },
    config: { resourceType: 'UserConfiguration', menu: [] },
    security: { mfaEnrolled: false, sessions: [] },
  };
  return { status: 200, json, type: 'application/json' };
}

/** Whether the store answers. */
async function healthcheck({ settings, report }: Exchange): Promise<Answer> {
  const key = { project: SERVER_SCOPE, type: 'Project', id: 'healthcheck' };
  try {
    await settings.store.read([key], { deadline: performance.now() + HEALTH_MS });
    return { status: 200, json: { ok: true }, type: 'application/json' };
  } catch (error) {
    report(error);
    return { status: 503, json: { ok: false }, type: 'application/json' };
  }
}

/** Longest wait for the store, in milliseconds. */
const HEALTH_MS = 5_000;

function noRoute(): FhirError {
  return new FhirError('not-found', 'There is no such route');
}
