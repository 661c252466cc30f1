import { FhirError } from '../../fhir/error.js';
import { isJsonObject, type JsonObject } from '../../fhir/resource.js';
import { validateResource } from '../../fhir/validate-resource.js';
import { writeWarning } from '../../fhir/write-warning.js';
import type { Answer } from '../exchange/answer.js';
import type { CallerExchange } from '../exchange/exchange.js';
import { readJsonObject } from '../exchange/read-request-body.js';
import type { Route } from '../exchange/route.js';
import { answerResource, success } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/resource-operation-validate.html. */
export const VALIDATE_ROUTES: readonly Route[] = [':type/$validate', ':type/:id/$validate'].map((path) => ({
  group: 'operations',
  method: 'POST',
  root: 'fhir',
  path,
  answer: validate,
}));

async function validate(exchange: CallerExchange): Promise<Answer> {
  const { type } = exchange.path;
  const resource = validated(await readJsonObject(exchange));
  if (resource['resourceType'] !== type)
    throw new FhirError('invalid', `The resource must be a ${type}, as the URL says`);
  const { store } = exchange.settings;
  const issues = validateResource(store.model, resource, { strict: true, maxBytes: store.maxResourceBytes });
  // The findings are the result of the operation and no error of it.
  const findings = new FhirError('unprocessable', 'The resource is not valid', { issues });
  return answerResource(issues.length === 0 ? success('The resource is valid', writeWarning(type)) : findings.outcome);
}

/** The resource itself, or that of Parameters. */
function validated(body: JsonObject): JsonObject {
  if (body['resourceType'] !== 'Parameters') return body;
  const parameters = Array.isArray(body['parameter']) ? (body['parameter'] as unknown[]).filter(isJsonObject) : [];
  for (const { name, valueCode } of parameters) {
    if (name === 'profile') throw new FhirError('unsupported', '$validate checks the R4 definitions, not profiles');
    if (name === 'mode' && valueCode !== 'create' && valueCode !== 'update') {
      throw new FhirError('unsupported', '$validate takes the modes create and update');
    }
  }
  const resource = parameters.find(({ name }) => name === 'resource')?.['resource'];
  if (isJsonObject(resource)) return resource;
  throw new FhirError('invalid', '$validate needs a resource, as the body or as the parameter "resource"');
}
