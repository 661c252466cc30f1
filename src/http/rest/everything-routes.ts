import { FhirError } from '../../fhir/error.js';
import { isJsonObject } from '../../fhir/resource.js';
import { patientEverything } from '../../repository/patient-everything.js';
import { type CallerExchange, repositoryFor } from '../exchange/exchange.js';
import { parseBodyJson, withBody } from '../exchange/read-request-body.js';
import type { Answer } from '../exchange/answer.js';
import type { Route } from '../exchange/route.js';
import { answerResource } from './answer-resource.js';

/** See https://hl7.org/fhir/R4/patient-operation-everything.html. */
export const EVERYTHING_ROUTES: readonly Route[] = [
  {
    group: 'operations',
    method: 'GET',
    root: 'fhir',
    path: 'Patient/:id/$everything',
    parameters: 'checked',
    answer: (exchange) => everything(exchange, exchange.url.searchParams),
  },
  {
    group: 'operations',
    method: 'POST',
    root: 'fhir',
    path: 'Patient/:id/$everything',
    parameters: 'checked',
    async answer(exchange) {
      return everything(exchange, new URLSearchParams([...exchange.url.searchParams, ...(await inBody(exchange))]));
    },
  },
];

async function everything(exchange: CallerExchange, parameters: URLSearchParams): Promise<Answer> {
  return answerResource(await patientEverything(repositoryFor(exchange), exchange.path.id, parameters));
}

/**
 * The parameters in the body of the operation, in the form of a query; a repeated `_type` is a list. See
 * https://hl7.org/fhir/R4/operations.html#request.
 *
 * @throws FhirError `invalid` - the body is not Parameters with simple values
 */
async function inBody(exchange: CallerExchange): Promise<Map<string, string>> {
  const request = await withBody(exchange);
  const values = new Map<string, string>();
  if ((request.body as Uint8Array).length === 0) return values;
  const body = parseBodyJson(exchange, request);
  if (!isJsonObject(body) || body['resourceType'] !== 'Parameters') throw notParameters();
  const { parameter = [] } = body;
  if (!Array.isArray(parameter)) throw notParameters();
  for (const one of parameter as unknown[]) {
    if (!isJsonObject(one)) throw notParameters();
    const { name, ...rest } = one;
    const [value, ...others] = Object.entries(rest).filter(([key]) => key.startsWith('value'));
    const isSimple = typeof value?.[1] === 'string' || typeof value?.[1] === 'number';
    if (typeof name !== 'string' || !isSimple || others.length > 0) throw notParameters();
    const before = values.get(name);
    if (before !== undefined && name !== '_type') {
      throw new FhirError('invalid', `"${name.slice(0, 40)}" may be given once`);
    }
    values.set(name, before === undefined ? String(value[1]) : `${before},${String(value[1])}`);
  }
  return values;
}

function notParameters(): FhirError {
  return new FhirError('invalid', 'The body of $everything must be Parameters, each with a name and one simple value');
}
