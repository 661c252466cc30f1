import { FhirError } from '../../fhir/error.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { writeWarning } from '../../fhir/write-warning.js';
import { validateInTurns } from '../../profiles/validate-resource.js';
import { withinLimits } from '../../access/operation.js';
import { CallPace } from '../../store/call-pace.js';
import type { Answer } from '../exchange/answer.js';
import { boundedContextOf, type CallerExchange, parameterOf } from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { answerResource, success } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/resource-operation-validate.html. */
export const VALIDATE_ROUTES: readonly Route[] = [':type/$validate', ':type/:id/$validate'].map((path) => ({
  group: 'operations',
  method: 'POST',
  root: 'fhir',
  path,
  parameters: ['profile', 'mode'],
  answer: validate,
}));

async function validate(exchange: CallerExchange): Promise<Answer> {
  const { type } = exchange.path;
  const { resource, profiles } = validated(await readJsonObject(exchange));
  if (resource['resourceType'] !== type)
    throw new FhirError('invalid', `The resource must be a ${type}, as the URL says`);
  const mode = parameterOf(exchange, 'mode');
  if (mode !== undefined) assertMode(mode);
  const asked = [...exchange.url.searchParams.getAll('profile'), ...profiles];
  const { valid, outcome } = await withinLimits(boundedContextOf(exchange), ({ store, signal }) => {
    const options = {
      definitions: store.model,
      // Without profiles in the request, the profiles in `meta.profile` apply.
      profiles: asked.length === 0 ? (true as const) : asked,
      maxBytes: store.maxResourceBytes,
      maxValues: store.maxResourceValues,
    };
    return validateInTurns(resource, options, new CallPace({ signal }));
  });
  const isClean = valid && outcome.issue.length === 1;
  return answerResource(isClean ? success('The resource is valid', writeWarning(type)) : outcome);
}

/** The resource itself, or that of Parameters with the profiles to validate against. */
function validated(body: JsonObject): { readonly resource: JsonObject; readonly profiles: readonly string[] } {
  if (body['resourceType'] !== 'Parameters') return { resource: body, profiles: [] };
  const parameters = Array.isArray(body['parameter']) ? (body['parameter'] as unknown[]).filter(isJsonObject) : [];
  for (const { name, valueCode } of parameters) {
    if (name === 'mode') assertMode(valueCode);
  }
  const profiles = parameters.flatMap(({ name, valueUri, valueCanonical }) => {
    const url = valueUri ?? valueCanonical;
    return name === 'profile' && typeof url === 'string' ? [url] : [];
  });
  const resource = parameters.find(({ name }) => name === 'resource')?.['resource'];
  if (isJsonObject(resource)) return { resource, profiles };
  throw new FhirError('invalid', '$validate needs a resource, as the body or as the parameter "resource"');
}

function assertMode(mode: unknown): void {
  if (mode === 'create' || mode === 'update') return;
  throw new FhirError('unsupported', '$validate takes the modes create and update');
}
