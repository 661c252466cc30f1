import { FhirError } from '../../fhir/error.js';
import type { JsonObject } from '../../fhir/resource.js';
import { erasePatient } from '../../projects/erasure/erase-patient.js';
import { eraseResource } from '../../projects/erasure/erase-resource.js';
import { purgeHistory } from '../../projects/erasure/purge-history.js';
import type { Answer } from '../exchange/answer.js';
import { type CallerExchange, contextOf } from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';

/** Removal for good, for super administrators without access policies; the functions decide. */
export const REMOVAL_ROUTES: readonly Route[] = [
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
